import { SightlineError } from '../../base/errors.ts';

/** Requests planned at a time for one brand, or for the workspace. */
interface PlannedRequests {
  readonly brandId: string | null;
  readonly expected: number;
}

/** A plan of up to this many requests is always accepted: about 17 minutes at 120 requests per minute. */
export const PLAN_REQUESTS_MIN = 2_000;
/** A larger plan may have up to this many times the requests of the last complete run. */
export const PLAN_GROWTH_MAX = 20;

/**
 * Creates the check of everything that a sync plans: it adds up the requests for brands of `known`, which an earlier run has read, and
 * rejects a sum far larger than `last`.
 * @throws `plan_too_large` from the check
 */
export function createPlanSizeCheck(
  last: number | null,
  known: { has(brandId: string): boolean },
): (planned: readonly PlannedRequests[]) => void {
  let sum = 0;
  return (planned) => {
    for (const { brandId, expected } of planned) if (brandId !== null && known.has(brandId)) sum += expected;
    checkPlanSize(sum, last);
  };
}

/**
 * Checks the number of requests that a sync plans for brands it has read before. A much larger plan means that a count or a
 * date from upstream is wrong, or that the data grew so much that the user should confirm. `last` is the number of requests of
 * the last complete run with the same options; null disables the check, because only the planned days limit a first sync.
 * @throws `plan_too_large`
 */
export function checkPlanSize(planned: number, last: number | null): void {
  if (last === null) return;
  const allowed = Math.max(PLAN_REQUESTS_MIN, PLAN_GROWTH_MAX * last);
  if (planned <= allowed) return;
  throw new SightlineError(
    'plan_too_large',
    `this sync plans at least ${planned} requests, but the last complete sync needed ${last}; allowed: at most ${allowed}`,
  );
}
