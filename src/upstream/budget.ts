import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { createLedger } from './budget-ledger.ts';
import { type BudgetLog, type BudgetRecord, type Moment, memoryLog } from './budget-record.ts';

/** Longest sleep before the log is read again: another process may have given up its place. */
const POLL_MS = 1_000;
/** Shortest sleep before a log is asked again that lies elsewhere. */
const REFRESH_MS = 50;
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

/** Spreads requests over the minute and keeps all of them back after a 429, for everybody who shares it. */
export interface Pace {
  /** Takes leave to send, where there is some: 0, or milliseconds after which to ask again. */
  take(perMinute: number): Promise<number>;
  /** Gives nobody leave for `ms` from now; does not throw. */
  stop(ms: number): void;
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
  const delayMsMax = log.delayMsMax ?? 0;
  const moment = (): Moment => ({ monotonicMs: Math.floor(clock.monotonic()), wallMs: Math.floor(clock.now()) });
  const ledger = createLedger(() => ({ monotonicMs: clock.monotonic(), wallMs: clock.now() }), delayMsMax);
  // Nobody gives up a place in a log of one's own.
  const pollMs = given === undefined ? RENEW_MS : POLL_MS;
  const pollMsMin = log.refresh === undefined ? 0 : REFRESH_MS;
  const session = randomBytes(6).toString('hex');
  let claims = 0;
  let turn: Promise<void> = Promise.resolve();

  const catchUp = (): void => {
    for (const record of log.read()) ledger.apply(record);
  };
  const say = async (kind: BudgetRecord['kind'], id: string): Promise<void> => {
    await log.append({ kind, id, value: 0, ...moment() });
    catchUp();
  };
  // What has happened has happened: where it cannot be told, this process goes by it, and for the others the claim
  // runs out, later than if they knew. The next claim fails, and says why.
  const note = (kind: BudgetRecord['kind'], id: string, value = 0, next: () => void = () => undefined): void => {
    const record = { kind, id, value: Math.floor(value), ...moment() };
    const known = (): void => {
      catchUp();
      next();
    };
    const unknown = (): void => {
      ledger.apply(record);
      next();
    };
    try {
      const added = log.append(record);
      if (added instanceof Promise) {
        // What upstream has said is known here at once; told again by the log, it says the same.
        if (kind === 'limit' || kind === 'gate') ledger.apply(record);
        added.then(known, unknown);
        return;
      }
      catchUp();
    } catch {
      ledger.apply(record);
    }
    next();
  };

  // A claim that was not renewed for long may have run out for others: it goes to the end of the queue.
  const keep = async (mine: Claim): Promise<void> => {
    const ageMs = ledger.claimAgeMs(mine.id);
    if (ageMs > RENEW_MS_MAX) {
      note('leave', mine.id);
      mine.id = nextId();
    }
    if (ageMs > RENEW_MS) await renew(mine);
  };
  const nextId = (): string => `${session}-${(claims++).toString(36)}`;
  const renew = async (mine: Claim): Promise<void> => {
    Object.assign(mine, moment());
    await say('claim', mine.id);
  };
  // By either clock: one of them may stand still while the machine sleeps, the other may be set.
  const isOlder = (mine: Claim, ms: number): boolean =>
    Math.max(clock.monotonic() - mine.monotonicMs, clock.now() - mine.wallMs) > ms;

  // Milliseconds until it is worth to look again; 0 when the request may be sent at once.
  const look = async (mine: Claim, isFresh: boolean): Promise<number> => {
    await keep(mine);
    if (!isFresh) await log.refresh?.();
    catchUp();
    const waitMs = ledger.waitMs(mine.id, share) ?? pollMs;
    if (waitMs > 0) return waitMs;
    const spreadMs = (await pace?.take(ledger.state(share).capacity)) ?? 0;
    if (spreadMs > 0) return spreadMs;
    if (ledger.claimAgeMs(mine.id) <= SERVED_MS && !isOlder(mine, SERVED_MS + delayMsMax)) return 0;
    await renew(mine);
    // Who was held up meanwhile, as a process that is stopped, may find a closed gate, or his claim too old again.
    if (isOlder(mine, SERVED_MS + delayMsMax)) return REFRESH_MS;
    return ledger.waitMs(mine.id, share) ?? REFRESH_MS;
  };
  const queue = async (signal: AbortSignal): Promise<string> => {
    signal.throwIfAborted();
    const mine: Claim = { id: nextId(), ...moment() };
    try {
      await unlessAborted(renew(mine), signal);
      for (let isFirst = true; ; isFirst = false) {
        const waitMs = await unlessAborted(look(mine, isFirst), signal);
        if (waitMs === 0) break;
        await clock.sleep(Math.max(pollMsMin, Math.min(waitMs, pollMs)), signal);
      }
      signal.throwIfAborted();
      return mine.id;
    } catch (thrown) {
      note('leave', mine.id);
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
        const next = (): void => {
          if (remaining !== null) giveWay(ledger.state(share).limit - remaining, sentAt);
        };
        const tookMs = clock.monotonic() - sentAt;
        // Before the answer, which may be the first that others wait for: they are to know the limit with it.
        if (limit !== null && limit !== ledger.limit()) note('limit', '-', limit);
        note('answer', id, tookMs, next);
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
    closeGate: (ms) => {
      note('gate', '-', Math.ceil(ms));
      pace?.stop(ms);
    },
    state: () => {
      catchUp();
      return ledger.state(share);
    },
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
