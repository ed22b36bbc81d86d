import type { NotifyEvent } from '../../base/config/notify-settings.ts';
import { type ErrorCode, SightlineError } from '../../base/errors.ts';
import type { SyncSummary } from '../../sync/run-sync.ts';
import type { Told } from './notify-state.ts';

/** A lasting problem is reported again after this time. */
const REMIND_MS = 86_400_000;

/** Result of an operation that can fail. */
export interface Outcome {
  /** Kind of step, such as `sync`. */
  readonly what: string;
  /** JSON of the selection that limited the operation; null if it covered everything. */
  readonly scope: string | null;
  /** The job that ran the step; null if a user ran it. */
  readonly job: string | null;
  readonly runId: string | null;
  /** Null on success. */
  readonly failure: Failure | null;
}

/** Description of a failure. */
export interface Failure {
  readonly status: 'failed' | 'partial';
  readonly code: string | null;
  readonly message: string;
}

/** A message to be written. Times are ISO 8601, UTC. */
export interface Draft {
  readonly event: NotifyEvent;
  /** The only target that receives it; null for all targets that subscribe to the event. */
  readonly target: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Errors that do not show whether the operation works: it was stopped, or never started. */
const NEUTRAL: readonly ErrorCode[] = ['interrupted', 'warehouse_locked', 'usage'];

/** Converts the result of a sync. Returns null if an allowance, a user or another process ended it. */
export function outcomeOfSync(
  result: SyncSummary | SightlineError,
  scope: string | null,
  job: string | null,
): Outcome | null {
  const of = (failure: Failure | null, runId: string | null): Outcome => ({ what: 'sync', scope, job, runId, failure });
  const failed = ({ code, message }: SightlineError, runId: string | null): Outcome | null =>
    NEUTRAL.includes(code) ? null : of({ status: 'failed', code, message }, runId);
  if (result instanceof SightlineError) return failed(result, null);
  const { status, runId, error, failures } = result;
  if (error !== null) return failed(error, runId);
  const [first] = failures;
  if (first !== undefined) {
    const more = failures.length === 1 ? '' : ` (and ${failures.length - 1} more)`;
    return of({ status: 'partial', code: first.code, message: `${first.slice}: ${first.message}${more}` }, runId);
  }
  return status === 'complete' ? of(null, runId) : null;
}

/** Records an outcome in `told` and drafts the messages: one when an outage begins, then one per day, and one when it ends. */
export function noteOutcome(told: Told, outcome: Outcome, nowMs: number): Draft[] {
  const { what, scope, job, runId, failure } = outcome;
  const open = told.outages[what];
  const now = new Date(nowMs).toISOString();
  if (failure === null) {
    // Success of a partial selection does not show that the rest works.
    if (open === undefined || (scope !== null && scope !== open.scope)) return [];
    delete told.outages[what];
    return [{ event: 'recovery', target: null, data: { what, job, runId, since: open.since, endedAt: now } }];
  }
  const isReminder = open !== undefined;
  if (open !== undefined) {
    if (open.scope !== scope) open.scope = null;
    if (wasToldLately(open.toldAt, nowMs)) return [];
    open.toldAt = now;
  } else told.outages[what] = { since: now, scope, toldAt: now };
  const since = open?.since ?? now;
  return [{ event: 'failure', target: null, data: { what, job, runId, ...failure, since, reminder: isReminder } }];
}

// Compares in both directions: after a clock error, a time in the future must not suppress reminders until then.
function wasToldLately(toldAt: string, nowMs: number): boolean {
  return Math.abs(nowMs - Date.parse(toldAt)) < REMIND_MS;
}

/** How recent the data of a workspace are, as in `status`. */
export interface DataFreshness {
  /** Every part was read completely at this time or later, in epoch milliseconds; null if a part never was. */
  readonly asOfMs: number | null;
  /** Whether a later sync has read everything that a failed or partial one left out. */
  readonly isResolved: boolean;
}

/** Ends the outage of syncs if several syncs of parts have read everything since it began, and drafts the message. */
export function noteResolved(told: Told, { asOfMs, isResolved }: DataFreshness, nowMs: number): Draft[] {
  const open = told.outages['sync'];
  if (open === undefined || !isResolved || asOfMs === null || asOfMs <= Date.parse(open.since)) return [];
  return noteOutcome(told, { what: 'sync', scope: null, job: null, runId: null, failure: null }, nowMs);
}

/** Age in hours after which a target considers data stale. */
export interface StaleAfter {
  readonly key: string;
  readonly hours: number;
}

/**
 * Records stale data in `told` and drafts the messages. Each target has its own limit. If a part was never read, the age counts
 * from the first check.
 */
export function noteFreshness(
  told: Told,
  targets: readonly StaleAfter[],
  { asOfMs }: Pick<DataFreshness, 'asOfMs'>,
  nowMs: number,
): Draft[] {
  const ageMs = nowMs - (asOfMs ?? Date.parse(told.since));
  const lastCompleteAt = asOfMs === null ? null : new Date(asOfMs).toISOString();
  const now = new Date(nowMs).toISOString();
  return targets.flatMap(({ key, hours }): Draft[] => {
    const open = told.stale[key];
    if (ageMs <= hours * 3_600_000) {
      if (open === undefined) return [];
      delete told.stale[key];
      const data = { what: 'data', job: null, runId: null, since: open.since, endedAt: now };
      return [{ event: 'recovery', target: key, data }];
    }
    if (open !== undefined && wasToldLately(open.toldAt, nowMs)) return [];
    told.stale[key] = { since: open?.since ?? now, toldAt: now };
    const ageHours = Math.floor(ageMs / 3_600_000);
    const data = { lastCompleteAt, ageHours, staleHours: hours, reminder: open !== undefined };
    return [{ event: 'stale', target: key, data }];
  });
}
