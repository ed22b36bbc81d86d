import { exitCodeOf, worstExitCode } from '../../../base/ending.ts';
import { EXIT, SightlineError } from '../../../base/errors.ts';
import type { WorkspaceOutcome } from '../../../operations/sync-all.ts';
import { syncWorkspaces } from '../../../operations/sync-all.ts';
import { endingOfSync } from '../../../operations/sync.ts';
import type { SyncOptions } from '../../../sync/sync-options.ts';
import { contextOf, readAllConfigs, type WorkspaceFlags } from '../../context.ts';
import { count, duration, errorJson, plural, printJson, say } from '../../output/output.ts';
import { describe, toJson } from '../../output/sync-summary.ts';

/** Runs `sightline sync --all` and returns the most severe exit code of all workspaces. */
export async function syncAll(flags: WorkspaceFlags, options: SyncOptions, signal: AbortSignal): Promise<number> {
  if (options.brands !== null) {
    throw new SightlineError(
      'usage',
      '--all cannot be combined with --brand, because a brand belongs to one workspace',
    );
  }
  const startedAt = performance.now();
  const configured = readAllConfigs(flags);
  const codes: number[] = [];
  const onEnd = (outcome: WorkspaceOutcome): void => {
    codes.push(report(outcome, flags.json === true));
  };
  for (const one of configured) if ('error' in one) onEnd({ workspace: one.name, elapsedMs: 0, result: one.error });
  const contexts = configured.flatMap((one) => ('config' in one ? [contextOf('sync --all', one.config, signal)] : []));
  await syncWorkspaces(contexts, options, onEnd);
  const of = (...wanted: number[]): number => codes.filter((code) => wanted.includes(code)).length;
  const others = [of(EXIT.partial), codes.length - of(EXIT.done, EXIT.partial)];
  const parts = [
    `${count(of(EXIT.done))} complete`,
    ...others.flatMap((number, index) =>
      number === 0 ? [] : [`${count(number)} ${index === 0 ? 'partial' : 'not synced'}`],
    ),
  ];
  say(`${plural(codes.length, 'workspace')} in ${duration(performance.now() - startedAt)}: ${parts.join(', ')}`);
  return worstExitCode(codes) ?? EXIT.done;
}

function report({ workspace, result, elapsedMs }: WorkspaceOutcome, json: boolean): number {
  const isError = result instanceof SightlineError;
  const error = isError ? result : result.error;
  if (json) {
    const shown = isError ? errorJson(result) : toJson(result);
    printJson('sync --all', { workspace, ...shown });
  }
  if (!isError) describe(result, elapsedMs, `${workspace}: `);
  if (error !== null) say(`${workspace}: ${error.message}\n${workspace}: ${error.hint}`);
  return isError ? result.exit : exitCodeOf(endingOfSync(result));
}
