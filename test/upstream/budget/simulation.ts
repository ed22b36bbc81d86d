import { setMaxListeners } from 'node:events';
import type { Clock } from '../../../src/base/clock.ts';
import { createLimiter, type Window } from '../../../src/sandbox/sandbox-limiter.ts';
import type { Budget } from '../../../src/upstream/budget/budget.ts';
import type { BudgetLog, BudgetRecord } from '../../../src/upstream/budget/send-record.ts';

export const MINUTE_MS = 60_000;

/** Time until a request is counted, and from there until its response; null if no response arrives. */
export interface Travel {
  readonly thereMs: number;
  readonly backMs: number | null;
}

/** A server that counts requests as specified, at times chosen by the test; `tells` adds rate headers. */
export function countingServer(limit: number, window: Window, tells: boolean, countRefused = true) {
  const admit = createLimiter(limit, window, countRefused);
  const arrivals: number[] = [];
  let refused = 0;
  return {
    arrivals,
    refused: () => refused,
    arrive: (atMs: number) => {
      const { allowed, remaining, retryAfterSeconds } = admit('key', atMs);
      arrivals.push(atMs);
      if (!allowed) refused += 1;
      const headers = { limit: tells ? limit : null, remaining: tells && allowed ? remaining : null };
      return { headers, retryAfterMs: allowed ? null : retryAfterSeconds * 1_000 };
    },
  };
}

export type Server = ReturnType<typeof countingServer>;

/** Sends up to `lanes` concurrent requests like the client until aborted or until `requestsMax` are sent. */
export function work(
  budget: Budget,
  clock: Clock,
  server: Server,
  travelOf: () => Travel,
  lanes: number,
  requestsMax = Number.POSITIVE_INFINITY,
): { abort(): void; readonly answered: readonly number[] } {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const answered: number[] = [];
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < requestsMax) {
      begun += 1;
      const slot = await budget.acquire(stop.signal);
      const { thereMs, backMs } = travelOf();
      try {
        await clock.sleep(thereMs, stop.signal);
        const { headers, retryAfterMs } = server.arrive(clock.monotonic());
        await clock.sleep(backMs ?? 5_000, stop.signal);
        if (backMs === null) continue;
        slot.answered(headers);
        answered.push(clock.monotonic());
        if (retryAfterMs !== null) budget.closeGate(retryAfterMs);
      } finally {
        slot.failed();
      }
    }
  };
  for (let index = 0; index < lanes; index++) lane().catch(() => undefined);
  return { abort: () => stop.abort(), answered };
}

/** Maximum arrivals in any 60 seconds. A sliding window is strictest and includes all fixed windows. */
export function mostInAnyMinute(arrivals: readonly number[]): number {
  const sorted = arrivals.toSorted((a, b) => a - b);
  let most = 0;
  for (let first = 0, last = 0; last < sorted.length; last++) {
    while ((sorted[last] as number) - (sorted[first] as number) >= MINUTE_MS) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

/** One log in memory; each call of `open` creates a reader, like a process with a file. */
export function sharedLog(records: BudgetRecord[] = []) {
  const open = (): BudgetLog => {
    let next = 0;
    return {
      append: (record) => void records.push(record),
      read: () => {
        const fresh = records.slice(next);
        next = records.length;
        return fresh;
      },
    };
  };
  return { records, open };
}
