import { EXIT } from '../../../base/errors.ts';
import type { Diagnosis, DiagnosisOptions } from '../../../operations/doctor/diagnose.ts';
import type { CheckResult } from '../../../operations/doctor/doctor.ts';
import { plural, printData, printJson, say } from '../../output/output.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { type Call, defineCommand } from '../../program/define-command.ts';
import { flag } from '../../program/option-kinds.ts';

/** Width of a check's name. */
const WIDTH = 15;

/** `doctor` fails if a check failed; warnings do not count. */
export const doctor = defineCommand({
  options: {
    ...workspaceOptions,
    fix: flag('make the repairs that are safe: leftovers, permissions, the replica'),
    offline: flag('send no requests to upstream, object stores, the home or the OAuth issuer'),
    all: flag('check every configured workspace; without --json only problems are printed'),
  },
  exits: '1 if a check failed; 0 if there are only warnings.',
  examples: [
    ['sightline doctor', 'check everything'],
    ['sightline doctor --fix --offline', 'repair files without sending requests'],
  ],
  run: async ({ fix, offline: isOffline, all, ...unread }, begin) => {
    const call = begin(unread);
    const { flags, json } = call;
    const { diagnoseAll, diagnoseOne } = await import('../../../operations/doctor/diagnose.ts');
    const { readAllConfigs, readConfig } = await import('../../checked-config.ts');
    const { readSurroundings } = await import('../../context.ts');
    const options = await toOptions(call, { fix, isOffline });
    if (all) return conclude(await diagnoseAll(readAllConfigs(flags), options, (found) => printProblems(found, json)));
    const { listWorkspaces } = await import('../../../base/config/workspace-names.ts');
    const diagnosis = await diagnoseOne(
      {
        workspace: flags.workspace ?? null,
        read: (name) => readConfig(name === null ? flags : { workspace: name }),
        names: () => listWorkspaces(readSurroundings()),
      },
      options,
    );
    if (json) printJson('doctor', diagnosis);
    else printData(diagnosis.checks.flatMap(describe).join('\n'));
    return conclude(diagnosis);
  },
});

async function toOptions(
  { signal }: Call,
  chosen: Pick<DiagnosisOptions, 'fix' | 'isOffline'>,
): Promise<DiagnosisOptions> {
  const { loadOAuthSettings, loadRunnerSettings } = await import('../../../base/config/config.ts');
  const { contextOf, readSurroundings } = await import('../../context.ts');
  return {
    ...chosen,
    folder: readSurroundings().folder,
    signal,
    runner: () => loadRunnerSettings(readSurroundings()),
    checkOAuth: async (workspaces) => {
      const settings = loadOAuthSettings(readSurroundings());
      if (settings === null) return [];
      const { checkOAuth } = await import('../../../serve/auth/oauth/check-oauth.ts');
      return checkOAuth({ settings, isOffline: chosen.isOffline, workspaces });
    },
    open: (config) => contextOf('doctor', config, signal),
  };
}

// Prints only problems for people, and one JSON line for programs.
function printProblems(diagnosis: Diagnosis, json: boolean): void {
  if (json) {
    printJson('doctor', diagnosis);
    return;
  }
  const { workspace, checks } = diagnosis;
  const wrong = checks.filter((result) => result.status !== 'ok' || result.fixed);
  const found = wrong.length === 0 ? ` ${plural(checks.length, 'check')} passed` : '';
  printData([`${workspace ?? 'all workspaces'}:${found}`, ...wrong.flatMap(describe)].join('\n'));
}

function conclude({ status, checks }: Diagnosis): number {
  const countOf = (wanted: CheckResult['status']): number => checks.filter((check) => check.status === wanted).length;
  say(`${plural(countOf('failure'), 'failure')}, ${plural(countOf('warning'), 'warning')}`);
  return status === 'failure' ? EXIT.failed : EXIT.done;
}

function describe({ check, status, message, advice, fixed }: CheckResult): string[] {
  const verdict = (fixed ? 'fixed' : status).padEnd(9);
  const line = `${verdict}${check.padEnd(WIDTH)}${message}`;
  return advice === null ? [line] : [line, `${' '.repeat(9 + WIDTH)}${advice}`];
}
