import type { RunningSync } from '../../sync/progress-file.ts';

/** Requests a minute that the API's documentation allows; upstream may say otherwise. */
const DOCUMENTED_LIMIT = 120;
const MINUTES = 60;
const MINUTE_MS = 60_000;

/** What was sent to upstream in the last hour. */
export interface BudgetHour {
  /** Requests a minute that upstream allows: what a sync was told, or else what the API's documentation says. */
  readonly limit: number;
  readonly isDocumented: boolean;
  /** Requests that can be sent at this moment; null where no sync runs. */
  readonly left: number | null;
  /** Requests of each of the last 60 minutes, the present one last. */
  readonly minutes: readonly number[];
}

/** Follows what running syncs send, which no published copy has yet. */
export interface BudgetWatch {
  /** Takes note of how far a sync is, or that none runs. */
  note(progress: RunningSync | null, nowMs: number): void;
  /** The last hour, from what was noted and from what a copy has by minutes since 1970. */
  hour(copied: readonly (readonly [minute: number, requests: number])[], nowMs: number): BudgetHour;
}

/** Builds one that has seen nothing. */
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
    hour: (copied, nowMs) => {
      const now = Math.floor(nowMs / MINUTE_MS);
      const written = new Map(copied);
      const minutes = Array.from({ length: MINUTES }, (_, index) => {
        const minute = now - MINUTES + 1 + index;
        return Math.max(written.get(minute) ?? 0, Math.round(seen.get(minute) ?? 0));
      });
      return { ...budget, minutes };
    },
  };
}

// What was sent before it was first looked at is taken to have gone out evenly.
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
