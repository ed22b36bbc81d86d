import { setTimeout as delay } from 'node:timers/promises';

/** Time and randomness, passed in so that tests can control both. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds since an arbitrary origin that all processes of the machine share. Never goes back, unlike `now`. */
  monotonic(): number;
  /**
   * Resolves after `ms`, or rejects with the signal's reason if the signal is aborted first. A `background` sleep is that of work which
   * repeats beside other work until it is stopped: a simulated clock must not skip it.
   */
  sleep(ms: number, signal?: AbortSignal, kind?: 'background'): Promise<void>;
  /** A number in [0, 1). */
  random(): number;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // Not performance.now(): it counts from the start of the process, so processes cannot compare it.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    } catch (thrown) {
      signal?.throwIfAborted();
      throw thrown;
    }
  },
  random: () => Math.random(),
};
