import PQueue from 'p-queue';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import type { SyncOptions, SyncSummary } from '../sync/run.ts';
import { withRemedy } from './damage.ts';
import { syncWorkspace } from './sync.ts';
import type { Context } from './workspace.ts';

/** Workspaces that are synced side by side: each has a warehouse open. */
const WORKSPACES_AT_A_TIME = 4;

/** How the sync of one workspace ended: with a summary, or before there could be one. */
export interface WorkspaceOutcome {
  readonly workspace: string;
  readonly elapsedMs: number;
  readonly result: SyncSummary | SightlineError;
}

/**
 * Syncs workspaces side by side; those that share a key and an upstream share their budget, and go one after the other.
 * Does not throw for what happens to one of them. `onEnd` is told of each as it ends.
 */
export async function syncWorkspaces(
  contexts: readonly Context[],
  options: SyncOptions,
  onEnd: (outcome: WorkspaceOutcome) => void,
): Promise<void> {
  const queue = new PQueue({ concurrency: WORKSPACES_AT_A_TIME });
  const inOrder = [...groupByBudget(contexts).values()].map((group) =>
    queue.add(async () => {
      for (const context of group) onEnd(await syncOne(context, options));
    }),
  );
  await Promise.all(inOrder);
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
    if (context.signal.aborted) return end(new SightlineError('interrupted', 'the sync was stopped before it began'));
    return end(await withRemedy(toSightlineError(thrown), context.config.folder));
  }
}

// A workspace without a usable key shares it with nobody; its sync says what is wrong.
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
