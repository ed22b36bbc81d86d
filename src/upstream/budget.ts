import type { Clock } from '../base/clock.ts';

/** Length of upstream's rate window. */
const WINDOW_MS = 60_000;
/**
 * Upstream counts a request when it arrives, which is some time after it was sent. A slot is held as if that took this
 * long, or until the answer shows that it took less, so that the count in any 60 seconds at the server stays exact.
 */
const ARRIVAL_MS_MAX = 1_000;
/** Added where a moment was measured here and acted on there. */
const SKEW_MS = 10;
/** Limit while upstream has not said another. */
const LIMIT_DEFAULT = 120;

/** Keeps the send times of the last minute beyond the process, so that a restart does not forget them. */
export interface BudgetStore {
  /** Epoch milliseconds of recent sends, in any order. */
  load(): readonly number[];
  append(epochMs: number): void;
}

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

interface Entry {
  heldUntil: number;
}

/**
 * A sliding log of send times: never more than limit - reserve requests reach upstream in any 60 seconds, whether it
 * counts in a sliding or in a fixed window. `share` in (0, 1] is the part of the limit that may be used at all.
 */
export function createBudget(options: { clock: Clock; share?: number; store?: BudgetStore }): Budget {
  const { clock, share = 1, store } = options;
  let limit = LIMIT_DEFAULT;
  let heard = false;
  let gateUntil = 0;
  const entries: Entry[] = restore(clock, store);
  let inFlight = 0;
  let turn: Promise<void> = Promise.resolve();

  const capacity = (): number => Math.max(1, Math.floor((limit - Math.floor(limit / 100)) * share));
  const prune = (now: number): void => {
    for (let index = entries.length - 1; index >= 0; index--) {
      if ((entries[index] as Entry).heldUntil <= now) entries.splice(index, 1);
    }
  };
  // How long until a request may go. Until the first answer has told the limit, one at a time.
  const waitMs = (): number => {
    const now = clock.monotonic();
    prune(now);
    if (gateUntil > now) return gateUntil - now;
    if (!heard && inFlight > 0) return 5;
    const excess = entries.length - capacity() + 1;
    if (excess <= 0) return 0;
    const ends = entries.map((entry) => entry.heldUntil).sort((a, b) => a - b);
    return Math.max(1, (ends[excess - 1] as number) - now);
  };

  const take = (waitedMs: number): Slot => {
    const entry: Entry = { heldUntil: clock.monotonic() + WINDOW_MS + ARRIVAL_MS_MAX };
    entries.push(entry);
    inFlight += 1;
    store?.append(clock.now());
    let open = true;
    const end = (): void => {
      if (!open) return;
      open = false;
      inFlight -= 1;
    };
    return {
      waitedMs,
      answered: (headers) => {
        end();
        heard = true;
        const now = clock.monotonic();
        entry.heldUntil = Math.min(entry.heldUntil, now + WINDOW_MS + SKEW_MS);
        if (headers.limit !== null) limit = headers.limit;
        if (headers.remaining !== null) giveWay(limit - headers.remaining, now);
      },
      failed: end,
    };
  };

  // Requests that upstream has counted and this log has not are another user's of the key. All of our own are in the
  // log for longer than upstream counts them, so the difference is never our own.
  const giveWay = (counted: number, now: number): void => {
    prune(now);
    for (let foreign = counted - entries.length; foreign > 0; foreign--) entries.push({ heldUntil: now + WINDOW_MS });
  };

  return {
    acquire: (signal) => {
      const askedAt = clock.monotonic();
      const mine = turn.then(async () => {
        for (let wait = waitMs(); wait > 0; wait = waitMs()) await clock.sleep(wait, signal);
        signal.throwIfAborted();
        return take(clock.monotonic() - askedAt);
      });
      turn = mine.then(
        () => undefined,
        () => undefined,
      );
      return mine;
    },
    closeGate: (ms) => {
      gateUntil = Math.max(gateUntil, clock.monotonic() + ms);
    },
    state: () => {
      prune(clock.monotonic());
      return { limit, capacity: capacity(), left: Math.max(0, capacity() - entries.length) };
    },
  };
}

function restore(clock: Clock, store: BudgetStore | undefined): Entry[] {
  const now = clock.now();
  return (store?.load() ?? [])
    .map((sentAt) => sentAt + WINDOW_MS + ARRIVAL_MS_MAX - now)
    .filter((heldMs) => heldMs > 0 && heldMs <= WINDOW_MS + ARRIVAL_MS_MAX)
    .map((heldMs) => ({ heldUntil: clock.monotonic() + heldMs }));
}
