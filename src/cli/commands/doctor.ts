import { type CheckResult, type ConfiguredWorkspace, examine, examineSurroundings } from '../../app/doctor.ts';
import { VERDICTS } from '../../app/doctor-finding.ts';
import { DEFAULT_WORKSPACE, listWorkspaces, type WorkspaceConfig } from '../../base/config.ts';
import { EXIT, type SightlineError, toSightlineError } from '../../base/errors.ts';
import { contextOf, readConfig, readSurroundings, type WorkspaceFlags } from '../context.ts';
import { plural, printData, say } from '../output.ts';
import { terminal } from '../terminal.ts';

/** Flags of `doctor`. */
export interface DoctorFlags extends WorkspaceFlags {
  readonly fix?: boolean;
  readonly offline?: boolean;
}

/** Runs `sightline doctor` and returns its exit code: `failed` where a check failed, and `done` for warnings. */
export async function doctor(flags: DoctorFlags, signal: AbortSignal): Promise<number> {
  const { config, configured } = readSettings(flags);
  const results = await examineSurroundings(configured);
  if (config !== null) {
    const context = contextOf('doctor', config, signal);
    const { folder } = terminal();
    const isOffline = flags.offline === true;
    results.push(...(await examine({ context, folder, isOffline, fix: flags.fix === true })));
  }
  const worst = VERDICTS.findLast((verdict) => results.some(({ status }) => status === verdict)) ?? 'ok';
  const workspace = config?.name ?? flags.workspace ?? null;
  if (flags.json === true) printData(JSON.stringify({ workspace, status: worst, checks: results }));
  else printData(results.flatMap(describe).join('\n'));
  const countOf = (status: CheckResult['status']): number =>
    results.filter((result) => result.status === status).length;
  say(`${plural(countOf('failure'), 'failure')}, ${plural(countOf('warning'), 'warning')}`);
  return worst === 'failure' ? EXIT.failed : EXIT.done;
}

interface Settings {
  /** The workspace that the flags name; null where its settings cannot be read. */
  readonly config: WorkspaceConfig | null;
  /** All that are configured, and that one. */
  readonly configured: readonly ConfiguredWorkspace[];
}

function readSettings(flags: DoctorFlags): Settings {
  let config: WorkspaceConfig;
  try {
    config = readConfig(flags);
  } catch (thrown) {
    return {
      config: null,
      configured: [{ name: flags.workspace ?? DEFAULT_WORKSPACE, error: toSightlineError(thrown) }],
    };
  }
  const names = [...new Set([config.name, ...listWorkspaces(readSurroundings())])];
  const errorOf = (name: string): SightlineError | null => {
    try {
      (name === config.name ? config : readConfig({ workspace: name })).upstream();
      return null;
    } catch (thrown) {
      return toSightlineError(thrown);
    }
  };
  return { config, configured: names.map((name) => ({ name, error: errorOf(name) })) };
}

const WIDTH = 15;

function describe({ check, status, message, advice, fixed }: CheckResult): string[] {
  const verdict = (fixed ? 'fixed' : status).padEnd(9);
  const line = `${verdict}${check.padEnd(WIDTH)}${message}`;
  return advice === null ? [line] : [line, `${' '.repeat(9 + WIDTH)}${advice}`];
}
