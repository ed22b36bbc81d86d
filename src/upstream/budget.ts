import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { createLedger } from './budget-ledger.ts';
import { type BudgetLog, type BudgetRecord, type Moment, memoryLog } from './budget-record.ts';

/** Longest sleep before the log is read again: another process may have given up its place. */
const POLL_MS = 1_000;
/** A waiting claim is renewed after so long; one that was not, as in a machine asleep, has lost its place. */
const RENEW_MS = 30_000;
const RENEW_MS_MAX = 90_000;
/** A claim is renewed when it is served, if it is older: how long a request may be under way counts from there. */
const SERVED_MS = 500;

/** Permission to send one request. */
export interface Slot {
  readonly waitedMs: number;
  /** Reports that the answer's head has come, with upstream's rate headers. */
  answered(headers: { readonly limit: number | null; readonly remaining: number | null }): void;
  /** Reports that no answer came. */
  failed(): void;
}

/** What the budget allows at this moment. */
export interface BudgetState {
  readonly limit: number;
  readonly capacity: number;
  readonly left: number;
}

/** The one budget of a key. */
export interface Budget {
  /** Waits, first come first served, until a request may be sent; rejects when the signal is aborted. */
  acquire(signal: AbortSignal): Promise<Slot>;
  /** Lets nobody send for `ms` from now: upstream answered 429. */
  closeGate(ms: number): void;
  state(): BudgetState;
}

/**
 * The budget of a key, shared by everybody who uses the same log: never more than limit - reserve of their requests
 * reach upstream in any 60 seconds, whether it counts in a sliding or in a fixed window. `share` in (0, 1] is the part
 * of the limit that all of them together may use, as far as this one is concerned; what other users of the key use of
 * the rest takes nothing from it.
 */
export function createBudget(options: { clock: Clock; share?: number; log?: BudgetLog }): Budget {
  const { clock, share = 1, log = memoryLog() } = options;
  const moment = (): Moment => ({ monotonicMs: Math.floor(clock.monotonic()), wallMs: Math.floor(clock.now()) });
  const ledger = createLedger(() => ({ monotonicMs: clock.monotonic(), wallMs: clock.now() }));
  // Nobody gives up a place in a log of one's own.
  const pollMs = options.log === undefined ? RENEW_MS : POLL_MS;
  const session = randomBytes(6).toString('hex');
  let claims = 0;
  let turn: Promise<void> = Promise.resolve();

  const catchUp = (): void => {
    for (const record of log.read()) ledger.apply(record);
  };
  const say = (kind: BudgetRecord['kind'], id: string, value = 0): void => {
    log.append({ kind, id, value: Math.floor(value), ...moment() });
    catchUp();
  };
  // What has happened has happened: where it cannot be told, this process goes by it, and for the others the claim
  // runs out, later than if they knew. The next claim fails, and says why.
  const note = (kind: BudgetRecord['kind'], id: string, value = 0): void => {
    try {
      say(kind, id, value);
    } catch {
      ledger.apply({ kind, id, value: Math.floor(value), ...moment() });
    }
  };

  const claim = (): string => {
    const id = `${session}-${(claims++).toString(36)}`;
    say('claim', id);
    return id;
  };
  // A claim that was not renewed for long may have run out for others: it goes to the end of the queue.
  const keep = (id: string): string => {
    const ageMs = ledger.claimAgeMs(id);
    if (ageMs > RENEW_MS_MAX) {
      note('leave', id);
      return claim();
    }
    if (ageMs > RENEW_MS) say('claim', id);
    return id;
  };
  const queue = async (signal: AbortSignal): Promise<string> => {
    signal.throwIfAborted();
    let id = claim();
    try {
      for (;;) {
        id = keep(id);
        catchUp();
        const waitMs = ledger.waitMs(id, share) ?? pollMs;
        if (waitMs === 0) break;
        await clock.sleep(Math.min(waitMs, pollMs), signal);
      }
      signal.throwIfAborted();
      if (ledger.claimAgeMs(id) > SERVED_MS) say('claim', id);
      return id;
    } catch (thrown) {
      note('leave', id);
      throw thrown;
    }
  };

  const take = (id: string, waitedMs: number): Slot => {
    const sentAt = clock.monotonic();
    let isOpen = true;
    return {
      waitedMs,
      answered: ({ limit, remaining }) => {
        if (!isOpen) return;
        isOpen = false;
        note('answer', id, clock.monotonic() - sentAt);
        if (limit !== null && limit !== ledger.limit()) note('limit', '-', limit);
        if (remaining !== null) giveWay(ledger.state(share).limit - remaining, sentAt);
      },
      failed: () => {
        if (isOpen) note('fail', id);
        isOpen = false;
      },
    };
  };

  // Requests that upstream has counted and the log has not are another user's of the key. All that upstream can have
  // counted of what is sent here, by any process, is in the log before it is sent, so the difference is never ours.
  const giveWay = (counted: number, sentAt: number): void => {
    const unknown = counted - ledger.countedSince(sentAt);
    if (unknown > 0) note('others', '-', ledger.others() + unknown);
  };

  return {
    acquire: (signal) => {
      const askedAt = clock.monotonic();
      const mine = turn.then(async () => take(await queue(signal), clock.monotonic() - askedAt));
      turn = mine.then(
        () => undefined,
        () => undefined,
      );
      return mine;
    },
    closeGate: (ms) => note('gate', '-', Math.ceil(ms)),
    state: () => {
      catchUp();
      return ledger.state(share);
    },
  };
}
