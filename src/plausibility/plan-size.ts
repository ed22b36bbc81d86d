import { SightlineError } from '../base/errors.ts';

/** Requests that a plan may always have: about a quarter of an hour at 120 a minute. */
export const PLAN_REQUESTS_MIN = 2_000;
/** How many times the requests of the last complete run a plan may have. */
export const PLAN_GROWTH_MAX = 20;

/**
 * Throws `plan_too_large` if a sync plans far more requests for brands that it has read before than the last complete run
 * took: a count or a date from upstream is wrong, or its data has grown in a way that somebody should confirm. `last` is
 * null if no run with the same options was complete; a first sync is bounded by the days that are planned at all.
 */
export function checkPlanSize(planned: number, last: number | null): void {
  if (last === null) return;
  const allowed = Math.max(PLAN_REQUESTS_MIN, PLAN_GROWTH_MAX * last);
  if (planned <= allowed) return;
  throw new SightlineError(
    'plan_too_large',
    `this sync plans ${planned} requests or more, the last complete one took ${last}; allowed: at most ${allowed}`,
  );
}
