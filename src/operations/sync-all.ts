import PQueue from 'p-queue';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import type { Context } from '../session/workspace.ts';
import type { SyncSummary } from '../sync/run-sync.ts';
import type { SyncOptions } from '../sync/sync-options.ts';
import { withRemedy } from './damage-remedy.ts';
import { notifyOfSync } from './notify/notify-of.ts';
import { syncWorkspace } from './sync.ts';

/** Workspaces that are synced in parallel. Each has a warehouse open. */
const WORKSPACES_AT_A_TIME = 4;

/** Result of the sync of one workspace: a summary, or the error that prevented the sync. */
export interface WorkspaceOutcome {
  readonly workspace: string;
  readonly elapsedMs: number;
  readonly result: SyncSummary | SightlineError;
}

/**
 * Syncs workspaces in parallel. Workspaces with the same API key share a budget and are synced one after another. Calls `onEnd`
 * with each result, then notifies the workspace's webhooks. Does not throw if a workspace fails.
 */
export async function syncWorkspaces(
  contexts: readonly Context[],
  options: SyncOptions,
  onEnd: (outcome: WorkspaceOutcome) => void,
): Promise<void> {
  const notified: Promise<void>[] = [];
  const queue = new PQueue({ concurrency: WORKSPACES_AT_A_TIME });
  const inOrder = [...groupByBudget(contexts).values()].map((group) =>
    queue.add(async () => {
      for (const context of group) {
        const outcome = await syncOne(context, options);
        onEnd(outcome);
        notified.push(notifyOfSync(context, options, outcome.result, null));
      }
    }),
  );
  await Promise.all(inOrder);
  await Promise.all(notified);
}

async function syncOne(context: Context, options: SyncOptions): Promise<WorkspaceOutcome> {
  const startedAt = performance.now();
  const end = (result: WorkspaceOutcome['result']): WorkspaceOutcome => ({
    workspace: context.config.name,
    elapsedMs: performance.now() - startedAt,
    result,
  });
  try {
    context.signal.throwIfAborted();
    return end(await syncWorkspace(context, options, () => undefined));
  } catch (thrown) {
    if (context.signal.aborted) return end(new SightlineError('interrupted', 'the sync was stopped before it started'));
    return end(await withRemedy(toSightlineError(thrown), context.config.folder));
  }
}

// A workspace without a usable key forms its own group; its sync reports the error.
function budgetOf({ config }: Context): string {
  try {
    return config.upstream().key;
  } catch {
    return config.name;
  }
}

function groupByBudget(contexts: readonly Context[]): Map<string, Context[]> {
  const groups = new Map<string, Context[]>();
  for (const context of contexts) {
    const budget = budgetOf(context);
    groups.set(budget, [...(groups.get(budget) ?? []), context]);
  }
  return groups;
}
