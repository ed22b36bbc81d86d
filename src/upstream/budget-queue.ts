import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Ledger } from './budget-ledger.ts';
import type { BudgetLog, BudgetRecord, Moment } from './budget-record.ts';

/** Shortest sleep before a log is asked again that lies elsewhere. */
const REFRESH_MS = 50;
/** A waiting claim is renewed after so long; one that was not, as in a machine asleep, has lost its place. */
export const RENEW_MS = 30_000;
const RENEW_MS_MAX = 90_000;
/** A claim is renewed when it is served, if it is older: how long a request may be under way counts from there. */
const SERVED_MS = 500;

/** Spreads requests over the minute and keeps all of them back after a 429, for everybody who shares it. */
export interface Pace {
  /** Takes leave to send, where there is some and the log has no closed gate: 0, or milliseconds after which to ask again. */
  take(perMinute: number): Promise<number>;
  /** Gives nobody leave for `ms` from now; does not throw. */
  stop(ms: number): void;
}

/** The log, read into the ledger. */
export interface Book {
  catchUp(): void;
  /** Adds a record before anything else is done; throws when it cannot be kept. */
  say(kind: BudgetRecord['kind'], id: string): Promise<void>;
  /** Adds a record of what has happened; `next` is called when it is known, at once where that is possible. */
  note(kind: BudgetRecord['kind'], id: string, value?: number, next?: () => void): void;
}

/** Reads and writes the log. */
export function createBook(log: BudgetLog, ledger: Ledger, moment: () => Moment): Book {
  const catchUp = (): void => {
    for (const record of log.read()) ledger.apply(record);
  };
  return {
    catchUp,
    say: async (kind, id) => {
      await log.append({ kind, id, value: 0, ...moment() });
      catchUp();
    },
    // What has happened has happened: where it cannot be told, this process goes by it, and for the others the claim
    // runs out, later than if they knew. The next claim fails, and says why.
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
      // What upstream has said is known here at once; told again by the log, it says the same.
      if (kind === 'limit' || kind === 'gate') ledger.apply(record);
      added.then(catchUp, () => ledger.apply(record)).then(next);
    },
  };
}

/** What a queue works on. */
export interface QueueParts {
  readonly clock: Clock;
  readonly share: number;
  readonly log: BudgetLog;
  readonly pace: Pace | undefined;
  readonly ledger: Ledger;
  readonly book: Book;
  readonly moment: () => Moment;
  readonly pollMs: number;
}

/**
 * Waits for a place in the log: gives what does, and resolves with the id of the claim that has got one. It rejects with
 * the signal's reason when that is aborted, and leaves no claim.
 */
export function createQueue({ clock, share, log, pace, ledger, book, moment, pollMs }: QueueParts) {
  const pollMsMin = log.refresh === undefined ? 0 : REFRESH_MS;
  const servedMsMax = SERVED_MS + (log.delayMsMax ?? 0);
  const session = randomBytes(6).toString('hex');
  let claims = 0;
  const nextId = (): string => `${session}-${(claims++).toString(36)}`;
  // Not for who has gone meanwhile: a claim behind its leave would stay.
  const renew = async (mine: Claim, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    Object.assign(mine, moment());
    await book.say('claim', mine.id);
  };
  // A claim that was not renewed for long may have run out for others: it goes to the end of the queue.
  const keep = async (mine: Claim, signal: AbortSignal): Promise<void> => {
    const ageMs = ledger.claimAgeMs(mine.id);
    if (ageMs > RENEW_MS_MAX) {
      book.note('leave', mine.id);
      mine.id = nextId();
    }
    if (ageMs > RENEW_MS) await renew(mine, signal);
  };
  // By either clock: one of them may stand still while the machine sleeps, the other may be set.
  const isStale = (mine: Claim): boolean =>
    Math.max(clock.monotonic() - mine.monotonicMs, clock.now() - mine.wallMs) > servedMsMax;

  // Milliseconds until it is worth to look again; 0 when the request may be sent at once.
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
    // Who was held up meanwhile, as a process that is stopped, may find a closed gate, or his claim too old again.
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

/** A claim, and when its last record was written, by the clocks of this process. */
interface Claim extends Moment {
  id: string;
}

// Who no longer waits is told at once, however long what was begun takes yet.
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
