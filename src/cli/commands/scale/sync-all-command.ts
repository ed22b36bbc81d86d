import { exitCodeOf } from '../../../base/ending.ts';
import { SightlineError } from '../../../base/errors.ts';
import { notifyOfSync } from '../../../operations/notify/notify-of.ts';
import { endingOfSync, syncWorkspace } from '../../../operations/sync.ts';
import type { SyncOptions } from '../../../sync/sync-options.ts';
import type { WorkspaceFlags } from '../../context.ts';
import { say } from '../../output/output.ts';
import { describe, toJson } from '../../output/sync-summary.ts';
import { runForAll } from './all-workspaces.ts';

/** Workspaces that are synced in parallel. Each has a warehouse open. */
const WORKSPACES_AT_A_TIME = 4;

/** Runs `sightline sync --all` and returns the most severe exit code of all workspaces. */
export async function syncAll(flags: WorkspaceFlags, options: SyncOptions, signal: AbortSignal): Promise<number> {
  if (options.brands !== null) {
    throw new SightlineError(
      'usage',
      '--all cannot be combined with --brand, because a brand belongs to one workspace',
    );
  }
  const notified: Promise<void>[] = [];
  const code = await runForAll(flags, signal, {
    command: 'sync --all',
    words: ['complete', 'not synced'],
    parallel: WORKSPACES_AT_A_TIME,
    run: async (context) => {
      const startedAt = performance.now();
      const summary = await syncWorkspace(context, options, () => undefined);
      return { summary, elapsedMs: performance.now() - startedAt };
    },
    show: async (workspace, { summary, elapsedMs }) => {
      describe(summary, elapsedMs, `${workspace}: `);
      if (summary.error !== null) say(`${workspace}: ${summary.error.message}\n${workspace}: ${summary.error.hint}`);
      return [toJson(summary), exitCodeOf(endingOfSync(summary))];
    },
    // A slow receiver must not delay the next workspace.
    onEnd: (context, result) => {
      const ended = result instanceof SightlineError ? result : result.summary;
      notified.push(notifyOfSync(context, options, ended, null));
    },
  });
  await Promise.all(notified);
  return code;
}
