import type { BudgetState } from '../upstream/budget/budget.ts';
import type { SyncStats } from './sync-stats.ts';

/** Progress of one resource: completed and expected requests, rows read, and failed slices. */
export interface ResourceProgress {
  readonly name: string;
  readonly done: number;
  readonly expected: number;
  readonly rows: number;
  readonly failed: number;
}

/** Progress of a sync. */
export interface Progress {
  /** Requests sent, including retries. */
  readonly requests: number;
  readonly retries: number;
  /** Total time that slices waited for the budget. */
  readonly waitedMs: number;
  readonly rows: number;
  /** Requests with a result, and the expected total: the same figure as that of a plan. */
  readonly done: number;
  readonly expected: number;
  /** Estimate from the budget and the pace so far. */
  readonly secondsToGo: number;
  /** Requests per minute: upstream's limit, the part used here, and the requests left at this moment. */
  readonly budget: BudgetState;
  readonly resources: readonly ResourceProgress[];
}

/** Returns the progress of a sync with these stats after `elapsedMs`. */
export function progressOf(stats: SyncStats, budget: BudgetState, elapsedMs: number): Progress {
  const resources = [...stats.resources].map(([name, { done, expected, rows, failed }]) => {
    return { name, done, expected: Math.max(done, expected), rows, failed };
  });
  const sum = (read: (resource: ResourceProgress) => number): number =>
    resources.reduce((total, resource) => total + read(resource), 0);
  // The prediction includes slices that are not planned yet.
  const planned = sum(({ done, expected }) => expected - done);
  const toGo = Math.max(planned, stats.predicted - stats.requests);
  return {
    requests: stats.requests,
    retries: stats.retries,
    waitedMs: stats.waitedMs,
    rows: sum(({ rows }) => rows),
    done: stats.requests,
    expected: stats.requests + toGo,
    secondsToGo: toGo === 0 ? 0 : Math.ceil(secondsFor(toGo, stats.requests, budget, elapsedMs)),
    budget: { limit: budget.limit, capacity: budget.capacity, left: budget.left },
    resources,
  };
}

// The sync is limited either by the budget, after the requests left in this minute, or by upstream's pace.
function secondsFor(requests: number, sent: number, { capacity, left }: BudgetState, elapsedMs: number): number {
  const byBudget = Math.max(0, requests - left) / capacity;
  const byPace = requests / Math.max(1, (sent / Math.max(1, elapsedMs)) * 60_000);
  return Math.max(byBudget, byPace) * 60;
}
