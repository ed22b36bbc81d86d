import { setTimeout as delay } from 'node:timers/promises';

/** Time and chance, passed in so that tests can hold both. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds since an arbitrary moment; never set back, unlike `now`. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number in [0, 1). */
  random(): number;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
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
