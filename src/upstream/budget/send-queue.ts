import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Ledger } from './send-ledger.ts';
import type { BudgetLog, BudgetRecord, Moment } from './send-record.ts';

/** Minimum sleep between reads of a remote log. */
const REFRESH_MS = 50;
/**
 * A waiting claim is renewed at RENEW_MS. If it is older than RENEW_MS_MAX, for example because the machine slept, it goes to
 * the end of the queue.
 */
export const RENEW_MS = 30_000;
const RENEW_MS_MAX = 90_000;
/** An older claim is renewed when it is served, because its request's maximum duration counts from the last renewal. */
const SERVED_MS = 500;

/** Spreads requests over the minute and stops them after a 429, for all processes that share it. */
export interface Pace {
  /** Requests permission to send. Returns 0 if granted, otherwise the milliseconds after which to ask again. */
  take(perMinute: number): Promise<number>;
  /** Denies permission to all processes for `ms` from now. Does not throw. */
  stop(ms: number): void;
}

/** Connects the log with the ledger. */
export interface SendQueueStore {
  /** Applies new records of the log to the ledger. */
  catchUp(): void;
  /** Adds a record and waits until it is stored. Rejects if it cannot be stored. */
  say(kind: BudgetRecord['kind'], id: string): Promise<void>;
  /** Adds a record of a past event and does not throw. Calls `next` when the record is applied, synchronously if possible. */
  note(kind: BudgetRecord['kind'], id: string, value?: number, next?: () => void): void;
}

/** Creates the connection between a log and its ledger. */
export function createSendQueueStore(log: BudgetLog, ledger: Ledger, moment: () => Moment): SendQueueStore {
  const catchUp = (): void => {
    for (const record of log.read()) ledger.apply(record);
  };
  return {
    catchUp,
    say: async (kind, id) => {
      await log.append({ kind, id, value: 0, ...moment() });
      catchUp();
    },
    // If the record cannot be stored, apply it locally. Other processes free the slot when its claim expires. The next claim
    // fails with the reason.
    note: (kind, id, value = 0, next = () => undefined) => {
      const record = { kind, id, value: Math.floor(value), ...moment() };
      let added: unknown;
      try {
        added = log.append(record);
        if (!(added instanceof Promise)) catchUp();
      } catch {
        ledger.apply(record);
      }
      if (!(added instanceof Promise)) {
        next();
        return;
      }
      // Apply limits and 429 pauses here at once. The log returns them later without further effect.
      if (kind === 'limit' || kind === 'gate') ledger.apply(record);
      added.then(catchUp, () => ledger.apply(record)).then(next);
    },
  };
}

/** Dependencies of a queue. */
export interface QueueParts {
  readonly clock: Clock;
  readonly share: number;
  readonly log: BudgetLog;
  readonly pace: Pace | undefined;
  readonly ledger: Ledger;
  readonly book: SendQueueStore;
  readonly moment: () => Moment;
  readonly pollMs: number;
}

/**
 * Creates a function that waits until the log permits a request and resolves with the id of its claim. If the signal is aborted,
 * it withdraws the claim and rejects with the signal's reason.
 */
export function createQueue({ clock, share, log, pace, ledger, book, moment, pollMs }: QueueParts) {
  const pollMsMin = log.refresh === undefined ? 0 : REFRESH_MS;
  const servedMsMax = SERVED_MS + (log.delayMsMax ?? 0);
  const session = randomBytes(6).toString('hex');
  let claims = 0;
  const nextId = (): string => `${session}-${(claims++).toString(36)}`;
  // Do not renew after an abort: a claim written after its `leave` record would remain.
  const renew = async (mine: Claim, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    Object.assign(mine, moment());
    await book.say('claim', mine.id);
  };
  // Other processes may have expired a claim that was not renewed for long, so it is replaced by a new claim at the end.
  const keep = async (mine: Claim, signal: AbortSignal): Promise<void> => {
    const ageMs = ledger.claimAgeMs(mine.id);
    if (ageMs > RENEW_MS_MAX) {
      book.note('leave', mine.id);
      mine.id = nextId();
    }
    if (ageMs > RENEW_MS) await renew(mine, signal);
  };
  // Check both clocks: the monotonic clock may stop during sleep, and the wall clock may be set.
  const isStale = (mine: Claim): boolean =>
    Math.max(clock.monotonic() - mine.monotonicMs, clock.now() - mine.wallMs) > servedMsMax;

  // Returns the milliseconds until the next check; 0 if the request may be sent now.
  const look = async (mine: Claim, isFresh: boolean, signal: AbortSignal): Promise<number> => {
    await keep(mine, signal);
    if (!isFresh) await log.refresh?.();
    book.catchUp();
    const waitMs = ledger.waitMs(mine.id, share) ?? pollMs;
    if (waitMs > 0) return waitMs;
    const spreadMs = (await pace?.take(ledger.state(share).capacity)) ?? 0;
    if (spreadMs > 0) return spreadMs;
    if (ledger.claimAgeMs(mine.id) <= SERVED_MS && !isStale(mine)) return 0;
    await renew(mine, signal);
    // If the process was suspended meanwhile, the claim may be too old again, or a 429 may have arrived: check again.
    return isStale(mine) ? REFRESH_MS : (ledger.waitMs(mine.id, share) ?? REFRESH_MS);
  };

  return async (signal: AbortSignal): Promise<string> => {
    signal.throwIfAborted();
    const mine: Claim = { id: nextId(), ...moment() };
    try {
      await unlessAborted(renew(mine, signal), signal);
      for (let isFirst = true; ; isFirst = false) {
        const waitMs = await unlessAborted(look(mine, isFirst, signal), signal);
        if (waitMs === 0) break;
        await clock.sleep(Math.max(pollMsMin, Math.min(waitMs, pollMs)), signal);
      }
      signal.throwIfAborted();
      return mine.id;
    } catch (thrown) {
      book.note('leave', mine.id);
      throw thrown;
    }
  };
}

/** A claim with the time of its last record, by the clocks of this process. */
interface Claim extends Moment {
  id: string;
}

// Rejects as soon as the signal is aborted, even if `work` is still running.
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let leave = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason as Error);
    signal.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
