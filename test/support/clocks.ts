import { type Clock, systemClock } from '../../src/base/clock.ts';

/** The time of most sandboxes in tests: an afternoon, so that today already has some responses. */
export const NOW_MS = Date.parse('2026-03-15T15:30:00Z');

/** Milliseconds that all skipping clocks of this process have skipped, so that monotonic time is the same for all of them. */
const skipped = { ms: 0 };

/**
 * A clock whose sleeps end at once and advance it by their length, beside the real time that work takes. For work that sleeps to wait for
 * time, not for another process. Background sleeps take real time. `now` advances by the sleeps since the clock was created.
 */
export function skippingClock(now: () => number = Date.now): Clock {
  const before = skipped.ms;
  const monotonic = (): number => systemClock.monotonic() + skipped.ms;
  return {
    now: () => Math.floor(now() + skipped.ms - before),
    monotonic,
    sleep: async (ms, signal, kind) => {
      if (kind === 'background') return systemClock.sleep(ms, signal);
      signal?.throwIfAborted();
      const until = monotonic() + ms;
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
      skipped.ms = Math.max(skipped.ms, until - systemClock.monotonic());
    },
    random: () => Math.random(),
  };
}

/** A clock whose sleeps end at once and advance it by their length. `now` stands still. */
export interface LeapingClock extends Clock {
  /** Advances the clock, for work that takes time. */
  advance(ms: number): void;
}

/** Creates a clock for tests that wait for nothing but their own sleeps. */
export function leapingClock(nowMs: number): LeapingClock {
  let monotonic = 0;
  return {
    advance: (ms) => {
      monotonic += ms;
    },
    now: () => nowMs,
    monotonic: () => monotonic,
    sleep: async (ms, signal) => {
      const at = monotonic + ms;
      signal?.throwIfAborted();
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
      monotonic = Math.max(monotonic, at);
    },
    random: () => 0.5,
  };
}

/** A clock that advances only in `advanceTo`. */
export interface VirtualClock extends Clock {
  /** Advances to `until` (monotonic) and wakes every sleeper at its time. */
  advanceTo(until: number): Promise<void>;
  /** Shifts the wall clock, like an operator or NTP; monotonic time stays. */
  shiftWall(ms: number): void;
}

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** Creates a simulated clock for deterministic tests. */
export function virtualClock(startEpochMs = Date.parse('2026-03-15T15:30:00Z'), random = () => 0.5): VirtualClock {
  let monotonic = 0;
  let wall = startEpochMs;
  let sleepers: Sleeper[] = [];
  return {
    now: () => wall + monotonic,
    monotonic: () => monotonic,
    random,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) {
          reject(signal.reason as Error);
          return;
        }
        const leave = (): void => {
          sleepers = sleepers.filter((other) => other !== sleeper);
          reject(signal?.reason as Error);
        };
        const wake = (): void => {
          signal?.removeEventListener('abort', leave);
          resolve();
        };
        const sleeper = { at: monotonic + ms, wake };
        sleepers.push(sleeper);
        signal?.addEventListener('abort', leave);
      }),
    advanceTo: async (until) => {
      for (;;) {
        // Run pending tasks until all of them sleep.
        await new Promise((resolve) => setImmediate(resolve));
        const next = Math.min(...sleepers.map(({ at }) => at));
        if (next > until) break;
        monotonic = Math.max(monotonic, next);
        const due = sleepers.filter(({ at }) => at <= monotonic);
        sleepers = sleepers.filter(({ at }) => at > monotonic);
        for (const { wake } of due) wake();
      }
      monotonic = Math.max(monotonic, until);
    },
    shiftWall: (ms) => {
      wall += ms;
    },
  };
}

/** A clock that stands still while there is work and jumps to the next sleeper when there is none. */
export interface IdleClock extends Clock {
  /** Reports work. */
  active(): void;
  /** Keeps the time while the work runs. */
  whileBusy<T>(work: () => Promise<T>): Promise<T>;
  close(): void;
}

/** Real time without work after which an idle clock jumps. */
const IDLE_MS = 2_500;

/** Creates a clock for tests of real work at a real rate limit. */
export function idleClock(startEpochMs: number): IdleClock {
  const virtual = virtualClock(startEpochMs);
  let lastActive = performance.now();
  let busy = 0;
  let next = Number.POSITIVE_INFINITY;
  const active = (): void => {
    lastActive = performance.now();
  };
  const sleeping = new Set<number>();
  const timer = setInterval(() => {
    if (busy > 0 || performance.now() - lastActive < IDLE_MS) return;
    next = Math.min(...sleeping);
    if (!Number.isFinite(next)) return;
    active();
    void virtual.advanceTo(next);
  }, 50);
  return {
    now: () => {
      active();
      return virtual.now();
    },
    monotonic: virtual.monotonic,
    random: virtual.random,
    sleep: async (ms, signal) => {
      const at = virtual.monotonic() + ms;
      sleeping.add(at);
      try {
        await virtual.sleep(ms, signal);
      } finally {
        sleeping.delete(at);
      }
    },
    active,
    whileBusy: async (work) => {
      busy += 1;
      try {
        return await work();
      } finally {
        busy -= 1;
        active();
      }
    },
    close: () => clearInterval(timer),
  };
}
