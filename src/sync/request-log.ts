import type { Clock } from '../base/clock.ts';
import type { Attempt } from '../contract/request.ts';
import type { SliceRef } from '../warehouse/ledger/ledger.ts';
import type { RunRef } from '../warehouse/ledger/runs.ts';
import type { PageDestinations } from './commit-page.ts';
import type { SyncStats } from './sync-stats.ts';

/**
 * Runs `work`, which adds its requests to the sync stats and to `requests` with `onAttempt`, and removes from `requests`
 * those that it commits with a page. Afterwards records the rest in the ledger, also if `work` throws.
 */
export type RequestLog = <T>(
  slice: Pick<SliceRef, 'id' | 'resource'>,
  work: (requests: Attempt[], onAttempt: (attempt: Attempt) => void) => Promise<T>,
) => Promise<T>;

/** Dependencies of a request log. */
export interface RequestLogParts extends Pick<PageDestinations, 'warehouse' | 'drift'> {
  readonly clock: Clock;
  readonly onProgress?: (stats: SyncStats) => void;
}

/** Creates the log of a run's requests. */
export function createRequestLog(
  { warehouse, drift, clock, onProgress }: RequestLogParts,
  run: RunRef,
  stats: SyncStats,
): RequestLog {
  return async (slice, work) => {
    const requests: Attempt[] = [];
    try {
      return await work(requests, (attempt) => {
        requests.push(attempt);
        stats.attempted(attempt);
        onProgress?.(stats);
      });
    } finally {
      if (requests.length > 0) {
        await warehouse.noteRequests(run, slice, requests);
        const implausible = requests.flatMap((request) => request.implausible ?? []);
        await drift?.store(run.runId, slice.resource, implausible, clock.now());
      }
    }
  };
}
