import { type ErrorCode, SightlineError } from '../../base/errors.ts';
import type { SyncSummary } from '../../sync/run.ts';
import type { Told } from './state.ts';

/** While something stays as it is, it is told again after so long. */
const REMIND_MS = 86_400_000;

/** How something ended that can fail. */
export interface Outcome {
  /** What ran: a kind of step, such as `sync`. */
  readonly what: string;
  /** To what it was narrowed; null for all there is. */
  readonly scope: string | null;
  /** The job whose step it was; null where somebody asked for it. */
  readonly job: string | null;
  readonly runId: string | null;
  /** Null where it is well. */
  readonly failure: Failure | null;
}

/** What went wrong. */
export interface Failure {
  readonly status: 'failed' | 'partial';
  readonly code: string | null;
  readonly message: string;
}

/** A message that is to be written; times are ISO 8601, UTC. */
export interface Draft {
  readonly event: 'failure' | 'recovery' | 'drift' | 'stale';
  /** Only for this target; null for all that want the event. */
  readonly target: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Ends that say nothing about whether it works: somebody stopped it, or it never began. */
const NEUTRAL: readonly ErrorCode[] = ['interrupted', 'warehouse_locked', 'usage'];

/** How a sync ended, as far as it says anything; null where an allowance, a person or another process ended it. */
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
    return of({ status: 'partial', code: first.code, message: `${first.chain}: ${first.message}${more}` }, runId);
  }
  return status === 'complete' ? of(null, runId) : null;
}

/** Takes an outcome into what is known, and drafts what is to be told: an outage once, and once a day while it lasts. */
export function noteOutcome(told: Told, outcome: Outcome, nowMs: number): Draft[] {
  const { what, scope, job, runId, failure } = outcome;
  const open = told.outages[what];
  const now = new Date(nowMs).toISOString();
  if (failure === null) {
    // What was narrowed does not show that the rest is well.
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

// What was told in a future that a wrong clock made up would not be told again until then.
function wasToldLately(toldAt: string, nowMs: number): boolean {
  return Math.abs(nowMs - Date.parse(toldAt)) < REMIND_MS;
}

/** For whom data are stale after how many hours. */
export interface StaleAfter {
  readonly key: string;
  readonly hours: number;
}

/**
 * Takes the end of the last complete sync into what is known (epoch milliseconds; null where there was none: then the
 * time since anybody looked counts), and drafts what is to be told. Each target has its own idea of stale.
 */
export function noteFreshness(
  told: Told,
  targets: readonly StaleAfter[],
  lastCompleteMs: number | null,
  nowMs: number,
): Draft[] {
  const ageMs = nowMs - (lastCompleteMs ?? Date.parse(told.since));
  const lastCompleteAt = lastCompleteMs === null ? null : new Date(lastCompleteMs).toISOString();
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
