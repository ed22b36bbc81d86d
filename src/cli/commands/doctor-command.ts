import {
  DEFAULT_WORKSPACE,
  listWorkspaces,
  loadRunnerSettings,
  type WorkspaceConfig,
} from '../../base/config/config.ts';
import { EXIT, toSightlineError } from '../../base/errors.ts';
import { type Finding, VERDICTS } from '../../operations/doctor/check-context.ts';
import {
  type CheckResult,
  type ConfiguredWorkspace,
  examine,
  examineSurroundings,
} from '../../operations/doctor/doctor.ts';
import {
  type Configured,
  contextOf,
  readAllConfigs,
  readConfig,
  readSurroundings,
  type WorkspaceFlags,
} from '../context.ts';
import { plural, printData, say } from '../output/output.ts';
import { terminal } from '../output/terminal.ts';

/** Flags of `doctor`. */
export interface DoctorFlags extends WorkspaceFlags {
  readonly fix?: boolean;
  readonly offline?: boolean;
  readonly all?: boolean;
}

/** Runs `sightline doctor` and returns its exit code: `failed` if a check failed; warnings do not count. */
export async function doctor(flags: DoctorFlags, signal: AbortSignal): Promise<number> {
  if (flags.all === true) return doctorOfAll(flags, signal);
  const { config, all } = readSettings(flags);
  const results = await examineSurroundings(all.map(toConfigured), () => examineQueue(all, signal));
  if (config !== null) results.push(...(await examineOne(config, flags, signal)));
  const workspace = config?.name ?? flags.workspace ?? null;
  const status = worstOf(results);
  if (flags.json === true) printData(JSON.stringify({ workspace, status, checks: results }));
  else printData(results.flatMap(describe).join('\n'));
  return conclude(results);
}

// Prints only problems for people, and one JSON line per workspace for programs. Checks that need no workspace come first.
async function doctorOfAll(flags: DoctorFlags, signal: AbortSignal): Promise<number> {
  const all = readAllConfigs(flags);
  const print = (workspace: string | null, checks: readonly CheckResult[]): void => {
    if (flags.json === true) {
      printData(JSON.stringify({ workspace, status: worstOf(checks), checks }));
      return;
    }
    const wrong = checks.filter((result) => result.status !== 'ok' || result.fixed);
    const found = wrong.length === 0 ? ` ${plural(checks.length, 'check')} passed` : '';
    printData([`${workspace ?? 'all workspaces'}:${found}`, ...wrong.flatMap(describe)].join('\n'));
  };
  const results = await examineSurroundings(all.map(toConfigured), () => examineQueue(all, signal));
  print(null, results);
  for (const configured of all) {
    if ('error' in configured) continue;
    const checks = await examineOne(configured.config, flags, signal);
    print(configured.name, checks);
    results.push(...checks);
  }
  return conclude(results);
}

async function examineQueue(all: readonly Configured[], signal: AbortSignal): Promise<Finding[]> {
  const settings = loadRunnerSettings(readSurroundings());
  const configs = all.flatMap((one) => ('config' in one ? [one.config] : []));
  return (await import('../../operations/doctor/check-queue.ts')).checkQueue(settings, configs, signal);
}

function toConfigured(configured: Configured): ConfiguredWorkspace {
  if ('error' in configured) return configured;
  try {
    configured.config.upstream();
    return { name: configured.name, error: null };
  } catch (thrown) {
    return { name: configured.name, error: toSightlineError(thrown) };
  }
}

function examineOne(config: WorkspaceConfig, flags: DoctorFlags, signal: AbortSignal): Promise<CheckResult[]> {
  const context = contextOf('doctor', config, signal);
  const { folder } = terminal();
  return examine({ context, folder, isOffline: flags.offline === true, fix: flags.fix === true });
}

function worstOf(results: readonly CheckResult[]): CheckResult['status'] {
  return VERDICTS.findLast((verdict) => results.some(({ status }) => status === verdict)) ?? 'ok';
}

function conclude(results: readonly CheckResult[]): number {
  const countOf = (status: CheckResult['status']): number =>
    results.filter((result) => result.status === status).length;
  say(`${plural(countOf('failure'), 'failure')}, ${plural(countOf('warning'), 'warning')}`);
  return worstOf(results) === 'failure' ? EXIT.failed : EXIT.done;
}

interface Settings {
  /** The selected workspace; null if its settings are invalid. */
  readonly config: WorkspaceConfig | null;
  /** All configured workspaces, including the selected one. */
  readonly all: readonly Configured[];
}

function readSettings(flags: DoctorFlags): Settings {
  let config: WorkspaceConfig;
  try {
    config = readConfig(flags);
  } catch (thrown) {
    return {
      config: null,
      all: [{ name: flags.workspace ?? DEFAULT_WORKSPACE, error: toSightlineError(thrown) }],
    };
  }
  const names = [...new Set([config.name, ...listWorkspaces(readSurroundings())])];
  const read = (name: string): Configured => {
    try {
      return { name, config: name === config.name ? config : readConfig({ workspace: name }) };
    } catch (thrown) {
      return { name, error: toSightlineError(thrown) };
    }
  };
  return { config, all: names.map(read) };
}

const WIDTH = 15;

function describe({ check, status, message, advice, fixed }: CheckResult): string[] {
  const verdict = (fixed ? 'fixed' : status).padEnd(9);
  const line = `${verdict}${check.padEnd(WIDTH)}${message}`;
  return advice === null ? [line] : [line, `${' '.repeat(9 + WIDTH)}${advice}`];
}
