import type { Clock } from '../base/clock.ts';

/** Length of upstream's rate window. */
const WINDOW_MS = 60_000;
/** How long after it was sent a request of an earlier process may have arrived, at which moment upstream counts it. */
const ARRIVAL_MS_MAX = 1_000;
/** Added where a moment was measured here and acted on there. */
const SKEW_MS = 10;
/** Limit while upstream has not said another. */
const LIMIT_DEFAULT = 120;

/** Keeps the send times of the last minute, and upstream's limit, beyond the process: a restart forgets neither. */
export interface BudgetStore {
  /** Epoch milliseconds of recent sends, in any order, and the limit that upstream last named. */
  load(): { readonly sentAt: readonly number[]; readonly limit: number | null };
  append(epochMs: number): void;
  remember(limit: number): void;
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
  /** Null while the request is under way. */
  heldUntil: number | null;
  /** False for a request of another user of the key. */
  readonly own: boolean;
}

/**
 * A sliding log of requests: never more than limit - reserve of them reach upstream in any 60 seconds, whether it counts
 * in a sliding or in a fixed window. Upstream counts a request when it arrives, some time between its being sent and its
 * being answered, so a slot is held for 60 seconds from the answer. `share` in (0, 1] is the part of the limit that may
 * be used at all; what others use of the rest takes nothing from it.
 */
export function createBudget(options: { clock: Clock; share?: number; store?: BudgetStore }): Budget {
  const { clock, share = 1, store } = options;
  const kept = store?.load() ?? { sentAt: [], limit: null };
  let limit = kept.limit ?? LIMIT_DEFAULT;
  let heard = false;
  let gateUntil = 0;
  let entries: Entry[] = restore(clock, kept.sentAt);
  let inFlight = 0;
  let turn: Promise<void> = Promise.resolve();

  const usable = (): number => limit - Math.floor(limit / 100);
  const capacity = (): number => Math.max(1, Math.floor(usable() * share));
  const own = (): Entry[] => entries.filter((entry) => entry.own);
  const prune = (now: number): void => {
    entries = entries.filter(({ heldUntil }) => heldUntil === null || heldUntil > now);
  };
  // How long until a request may go. Until the first answer has told the limit, one at a time.
  const waitMs = (): number => {
    const now = clock.monotonic();
    prune(now);
    if (gateUntil > now) return gateUntil - now;
    if (!heard && inFlight > 0) return 5;
    return Math.max(untilFewer(own(), capacity(), now), untilFewer(entries, usable(), now));
  };

  const take = (waitedMs: number): Slot => {
    const entry: Entry = { heldUntil: null, own: true };
    entries.push(entry);
    inFlight += 1;
    store?.append(clock.now());
    let open = true;
    const end = (): void => {
      if (!open) return;
      open = false;
      inFlight -= 1;
      entry.heldUntil = clock.monotonic() + WINDOW_MS + SKEW_MS;
    };
    return {
      waitedMs,
      answered: (headers) => {
        end();
        heard = true;
        if (headers.limit !== null && headers.limit !== limit) {
          limit = headers.limit;
          store?.remember(limit);
        }
        if (headers.remaining !== null) giveWay(limit - headers.remaining, clock.monotonic());
      },
      failed: end,
    };
  };

  // Requests that upstream has counted and this log has not are another user's of the key. All of our own are in the
  // log for longer than upstream counts them, so the difference is never our own.
  const giveWay = (counted: number, now: number): void => {
    prune(now);
    const foreign = Math.max(0, counted - entries.length);
    for (let index = 0; index < foreign; index++) entries.push({ heldUntil: now + WINDOW_MS, own: false });
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
      const left = Math.min(capacity() - own().length, usable() - entries.length);
      return { limit, capacity: capacity(), left: Math.max(0, left) };
    },
  };
}

// How long until fewer than `bound` of the entries are held, at the least: what is under way is held for a minute yet.
function untilFewer(entries: readonly Entry[], bound: number, now: number): number {
  const excess = entries.length - bound + 1;
  if (excess <= 0) return 0;
  const ends = entries.map(({ heldUntil }) => heldUntil ?? now + WINDOW_MS).sort((a, b) => a - b);
  return Math.max(1, (ends[excess - 1] as number) - now);
}

// A time that is still to come was noted before the wall clock was set back: it counts as this moment.
function restore(clock: Clock, sentAt: readonly number[]): Entry[] {
  const now = clock.now();
  return sentAt
    .map((time) => Math.min(time, now) + WINDOW_MS + ARRIVAL_MS_MAX - now)
    .filter((heldMs) => heldMs > 0)
    .map((heldMs) => ({ heldUntil: clock.monotonic() + heldMs, own: true }));
}
