import type { RunningSync } from '../../sync/progress-file.ts';
import type { BudgetHour } from '../../web/page-data/status-lines.ts';

/** Documented requests per minute; upstream may report another limit. */
const DOCUMENTED_LIMIT = 120;
const MINUTES = 60;
const MINUTE_MS = 60_000;

/** Tracks the requests of running syncs, which are not in any replica yet. */
export interface BudgetWatch {
  /** Records the progress of a sync, or that none is running. */
  note(progress: RunningSync | null, nowMs: number): void;
  /** Returns the last hour, combining recorded requests with those in a replica; minutes since 1970. */
  hour(
    copied: readonly (readonly [minute: number, requests: number])[],
    nowMs: number,
    reportedLimit: number | null,
  ): BudgetHour;
}

/** Creates an empty watch. */
export function createBudgetWatch(): BudgetWatch {
  const seen = new Map<number, number>();
  let last: { readonly startedAt: string; readonly requests: number } | null = null;
  let budget = { limit: DOCUMENTED_LIMIT, isDocumented: true, left: null as number | null };
  const add = (minute: number, requests: number): void => {
    seen.set(minute, (seen.get(minute) ?? 0) + requests);
  };
  return {
    note: (progress, nowMs) => {
      budget =
        progress === null
          ? { ...budget, left: null }
          : { limit: progress.budget.limit, isDocumented: false, left: progress.budget.left };
      if (progress === null) {
        last = null;
        return;
      }
      const now = Math.floor(nowMs / MINUTE_MS);
      for (const minute of seen.keys()) if (minute <= now - MINUTES) seen.delete(minute);
      const { startedAt, requests } = progress;
      if (last?.startedAt === startedAt) add(now, Math.max(0, requests - last.requests));
      else spread(requests, Math.floor(Date.parse(startedAt) / MINUTE_MS), now, progress.budget.limit, add);
      last = { startedAt, requests };
    },
    hour: (copied, nowMs, reportedLimit) => {
      const now = Math.floor(nowMs / MINUTE_MS);
      const written = new Map(copied);
      const minutes = Array.from({ length: MINUTES }, (_, index) => {
        const minute = now - MINUTES + 1 + index;
        return Math.max(written.get(minute) ?? 0, Math.round(seen.get(minute) ?? 0));
      });
      // A running sync knows the present limit; the log of the budget has the one that upstream reported last.
      const known = budget.isDocumented && reportedLimit !== null;
      return { ...budget, ...(known ? { limit: reportedLimit, isDocumented: false } : {}), minutes };
    },
  };
}

// Requests sent before the first observation are distributed evenly over the elapsed minutes.
function spread(
  requests: number,
  first: number,
  now: number,
  limit: number,
  add: (minute: number, requests: number) => void,
): void {
  const minutes = Math.max(1, Math.min(MINUTES, now - first + 1));
  for (let back = 0; back < minutes; back++) add(now - back, Math.min(limit, requests / minutes));
}
