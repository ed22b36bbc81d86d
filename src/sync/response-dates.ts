import type { Catalogue } from '../contract/catalogue.ts';
import type { RunClock } from '../contract/plausibility/run-clock.ts';
import type { Client } from '../upstream/client.ts';
import type { RunRef } from '../warehouse/ledger/runs.ts';
import type { DriftWatch } from './drift-watch.ts';
import type { RequestLog } from './request-log.ts';
import type { Slice } from './slice.ts';
import type { SyncStats } from './sync-stats.ts';

/**
 * Returns the time to store for a response of a slice whose Date header is `received`, epoch milliseconds or null. The
 * first call sets the run's clock.
 * @throws `clock_differs`, and UpstreamError if the request that confirms the clock fails
 */
export type ResponseDates = (slice: Slice, received: number | null) => Promise<number>;

interface ResponseDatesParts {
  readonly catalogue: Catalogue;
  readonly client: Client;
  readonly clock: RunClock;
  readonly signal: AbortSignal;
  readonly drift?: DriftWatch;
}

/** Creates the dates of a run's responses. */
export function createResponseDates(
  { catalogue, client, clock, signal, drift }: ResponseDatesParts,
  run: RunRef,
  stats: SyncStats,
  log: RequestLog,
): ResponseDates {
  // Compares the first response of the run with this machine's clock; in doubt, sends its request again.
  let isClockAgreed = false;
  const agreeOnClock = async (slice: Slice, first: number | null): Promise<void> => {
    if (isClockAgreed) return;
    isClockAgreed = true;
    const asked = { path: slice.path, query: slice.query, route: catalogue.get(slice.resource).path };
    await log(slice, (_requests, onAttempt) =>
      clock.agree(first, async () => (await client.get(asked, () => null, { signal, onAttempt })).date),
    );
    const difference = clock.difference();
    if (difference === null) return;
    const hours = `${Math.abs(difference / 3_600_000).toFixed(1)} hours ${difference > 0 ? 'ahead of' : 'behind'}`;
    const message = `upstream's clock is ${hours} this machine's; this run uses upstream's clock`;
    stats.warned({ slice: slice.id, code: 'clock_differs', message });
  };
  let hasWarned = false;
  return async (slice, received) => {
    await agreeOnClock(slice, received);
    const { date, implausible } = clock.dateOf(received);
    if (implausible === null) return date;
    await drift?.store(run.runId, slice.resource, [implausible], clock.now());
    if (hasWarned) return date;
    hasWarned = true;
    const message = `a response has the date ${String(implausible.value)}; allowed: ${implausible.allowed}. Such dates are ignored`;
    stats.warned({ slice: slice.id, code: 'implausible_value', message });
    return date;
  };
}
