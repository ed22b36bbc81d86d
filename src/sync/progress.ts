import type { BudgetState } from '../upstream/budget.ts';
import type { Tally } from './tally.ts';

/** One resource's part of a sync that runs: requests answered and to be answered in all, rows read, chains given up. */
export interface ResourceProgress {
  readonly name: string;
  readonly done: number;
  readonly expected: number;
  readonly rows: number;
  readonly failed: number;
}

/** How far a sync is. */
export interface Progress {
  /** Requests sent, retries among them. */
  readonly requests: number;
  readonly retries: number;
  /** Time that chains spent waiting for the budget, added up. */
  readonly waitedMs: number;
  readonly rows: number;
  /** Requests answered, and what they should come to. */
  readonly done: number;
  readonly expected: number;
  /** An estimate from what the budget allows and from the pace so far. */
  readonly secondsToGo: number;
  /** Requests a minute: what upstream allows, what of it is used here, and what is left at this moment. */
  readonly budget: BudgetState;
  readonly resources: readonly ResourceProgress[];
}

/** How far a sync is that has counted `tally` in `elapsedMs`. */
export function progressOf(tally: Tally, budget: BudgetState, elapsedMs: number): Progress {
  const resources = [...tally.resources].map(([name, { done, expected, rows, failed }]) => {
    return { name, done, expected: Math.max(done, expected), rows, failed };
  });
  const sum = (read: (resource: ResourceProgress) => number): number =>
    resources.reduce((total, resource) => total + read(resource), 0);
  const toGo = sum(({ done, expected }) => expected - done);
  return {
    requests: tally.requests,
    retries: tally.retries,
    waitedMs: tally.waitedMs,
    rows: sum(({ rows }) => rows),
    done: sum(({ done }) => done),
    expected: sum(({ expected }) => expected),
    secondsToGo: toGo === 0 ? 0 : Math.ceil(secondsFor(toGo, tally.requests, budget, elapsedMs)),
    budget: { limit: budget.limit, capacity: budget.capacity, left: budget.left },
    resources,
  };
}

// Either the budget is what it waits for, once what is left of this minute has gone, or upstream's pace.
function secondsFor(requests: number, sent: number, { capacity, left }: BudgetState, elapsedMs: number): number {
  const byBudget = Math.max(0, requests - left) / capacity;
  const byPace = requests / Math.max(1, (sent / Math.max(1, elapsedMs)) * 60_000);
  return Math.max(byBudget, byPace) * 60;
}
