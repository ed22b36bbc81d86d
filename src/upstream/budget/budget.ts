import type { Clock } from '../../base/clock.ts';
import { createLedger } from './send-ledger.ts';
import { createQueue, createSendQueueStore, type Pace, RENEW_MS } from './send-queue.ts';
import { type BudgetLog, type Moment, memoryLog } from './send-record.ts';

/** Maximum sleep between reads of the log, because another process may have withdrawn its claim. */
const POLL_MS = 1_000;

/** Permission to send one request. */
export interface Slot {
  readonly waitedMs: number;
  /** Reports that the response headers arrived, with upstream's rate headers. */
  answered(headers: { readonly limit: number | null; readonly remaining: number | null }): void;
  /** Reports that no response arrived. */
  failed(): void;
}

/** Current state of a budget: upstream's limit, the usable part of it, and the requests left in this window. */
export interface BudgetState {
  readonly limit: number;
  readonly capacity: number;
  readonly left: number;
}

/** Request budget of a key. */
export interface Budget {
  /** Waits in order of arrival until a request may be sent. Rejects if the signal is aborted. */
  acquire(signal: AbortSignal): Promise<Slot>;
  /** Stops all requests of the key for `ms` from now, after a 429. */
  closeGate(ms: number): void;
  state(): BudgetState;
}

/** Dependencies of a budget; default: a log in memory, without pace. */
export interface BudgetOptions {
  readonly clock: Clock;
  readonly share?: number;
  readonly log?: BudgetLog;
  readonly pace?: Pace;
}

/**
 * Creates the budget of a key, shared by all processes that use the same log. In any 60 seconds, at most limit - reserve of their
 * requests reach upstream, whether upstream counts in a sliding or a fixed window. `share` in (0, 1] is the part of the limit
 * that these processes together may use. Requests of other users of the key reduce it only beyond the rest of the limit.
 */
export function createBudget({ clock, share = 1, log: given, pace }: BudgetOptions): Budget {
  const log = given ?? memoryLog();
  const moment = (): Moment => ({ monotonicMs: Math.floor(clock.monotonic()), wallMs: Math.floor(clock.now()) });
  const ledger = createLedger(() => ({ monotonicMs: clock.monotonic(), wallMs: clock.now() }), log.delayMsMax);
  const book = createSendQueueStore(log, ledger, moment);
  // No other process can withdraw a claim from a log in memory, so it need not be polled.
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
        // Add the limit before the answer: if others wait for the first answer, they must see the limit with it.
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

  // Requests that upstream counted but the log does not contain belong to other users of the key: processes that share the log
  // add a claim before they send a request.
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
