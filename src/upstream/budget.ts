import type { Clock } from '../base/clock.ts';
import { createLedger } from './budget-ledger.ts';
import { createBook, createQueue, type Pace, RENEW_MS } from './budget-queue.ts';
import { type BudgetLog, type Moment, memoryLog } from './budget-record.ts';

/** Longest sleep before the log is read again: another process may have given up its place. */
const POLL_MS = 1_000;

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

/** How a budget is kept. */
export interface BudgetOptions {
  readonly clock: Clock;
  readonly share?: number;
  readonly log?: BudgetLog;
  readonly pace?: Pace;
}

/**
 * The budget of a key, shared by everybody who uses the same log: never more than limit - reserve of their requests
 * reach upstream in any 60 seconds, whether it counts in a sliding or in a fixed window. `share` in (0, 1] is the part
 * of the limit that all of them together may use, as far as this one is concerned; what other users of the key use of
 * the rest takes nothing from it.
 */
export function createBudget({ clock, share = 1, log: given, pace }: BudgetOptions): Budget {
  const log = given ?? memoryLog();
  const moment = (): Moment => ({ monotonicMs: Math.floor(clock.monotonic()), wallMs: Math.floor(clock.now()) });
  const ledger = createLedger(() => ({ monotonicMs: clock.monotonic(), wallMs: clock.now() }), log.delayMsMax);
  const book = createBook(log, ledger, moment);
  // Nobody gives up a place in a log of one's own.
  const pollMs = given === undefined ? RENEW_MS : POLL_MS;
  const queue = createQueue({ clock, share, log, pace, ledger, book, moment, pollMs });
  let turn: Promise<void> = Promise.resolve();

  const take = (id: string, waitedMs: number): Slot => {
    const sentAt = clock.monotonic();
    let isOpen = true;
    return {
      waitedMs,
      answered: ({ limit, remaining }) => {
        if (!isOpen) return;
        isOpen = false;
        const tookMs = clock.monotonic() - sentAt;
        // Before the answer, which may be the first that others wait for: they are to know the limit with it.
        if (limit !== null && limit !== ledger.limit()) book.note('limit', '-', limit);
        book.note('answer', id, tookMs, () => {
          if (remaining !== null) giveWay(ledger.state(share).limit - remaining, sentAt);
        });
      },
      failed: () => {
        if (isOpen) book.note('fail', id);
        isOpen = false;
      },
    };
  };

  // Requests that upstream has counted and the log has not are another user's of the key. All that upstream can have
  // counted of what is sent here, by any process, is in the log before it is sent, so the difference is never ours.
  const giveWay = (counted: number, sentAt: number): void => {
    const unknown = counted - ledger.countedSince(sentAt);
    if (unknown > 0) book.note('others', '-', Math.min(ledger.others() + unknown, ledger.state(share).limit));
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
    closeGate: (ms) => {
      book.note('gate', '-', Math.ceil(ms));
      pace?.stop(ms);
    },
    state: () => {
      book.catchUp();
      return ledger.state(share);
    },
  };
}
