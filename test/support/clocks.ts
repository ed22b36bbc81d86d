import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../src/base/clock.ts';

/** How much faster than the real one the hurried clock runs: a minute of budget or backoff is over in 60 ms. */
const HURRY = 1000;

/** A clock that runs a thousand times too fast, so that nothing waits real seconds; `now` is the world's. */
export function hurriedClock(now: () => number): Clock {
  return {
    now,
    monotonic: () => performance.now() * HURRY,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      try {
        await delay(ms / HURRY, undefined, signal === undefined ? {} : { signal });
      } catch (thrown) {
        signal?.throwIfAborted();
        throw thrown;
      }
    },
    random: () => Math.random(),
  };
}

/** A clock that stands still until it is told to go on. */
export interface VirtualClock extends Clock {
  /** Goes on until `until` (monotonic), stopping at every moment for which something sleeps. */
  advanceTo(until: number): Promise<void>;
  /** Sets the wall clock on or back, as an operator or NTP would; monotonic time is not touched. */
  shiftWall(ms: number): void;
}

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** Time as a simulation has it: it passes only in `advanceTo`, as fast as the machine can. */
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
        // Whatever is under way runs until all of it sleeps.
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
