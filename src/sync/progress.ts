import { z } from 'zod';
import { amount, type ValueOf } from '../contract/operation/json-parts.ts';
import type { BudgetState } from '../upstream/budget/budget.ts';
import type { SyncStats } from './sync-stats.ts';

const resourceProgress = z.object({
  name: z.string(),
  done: amount.describe('requests with a result'),
  expected: amount,
  rows: amount,
  failed: amount.describe('failed slices'),
});

/** Progress of a sync. */
export const progress = z.object({
  requests: amount.describe('requests sent, including retries'),
  retries: amount,
  waitedMs: amount.describe('total time that slices waited for the budget'),
  rows: amount,
  done: amount.describe('requests with a result'),
  expected: amount.describe('expected total: the same figure as that of a plan'),
  secondsToGo: amount.describe('estimate from the budget and the pace so far'),
  budget: z.object({
    limit: amount.describe('requests per minute that upstream allows'),
    capacity: amount.describe('the part used here'),
    left: amount.describe('requests left at this moment'),
  }),
  resources: z.array(resourceProgress),
});

/** Progress of a sync. */
export type Progress = ValueOf<typeof progress>;

/** Returns the progress of a sync with these stats after `elapsedMs`. */
export function progressOf(stats: SyncStats, budget: BudgetState, elapsedMs: number): Progress {
  const resources = [...stats.resources].map(([name, { done, expected, rows, failed }]) => {
    return { name, done, expected: Math.max(done, expected), rows, failed };
  });
  const sum = (read: (resource: Progress['resources'][number]) => number): number =>
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
