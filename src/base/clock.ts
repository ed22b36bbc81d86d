import { setTimeout as delay } from 'node:timers/promises';

/** Time and chance, passed in so that tests can hold both. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds since an arbitrary moment, one for all processes of the machine; never set back, unlike `now`. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number in [0, 1). */
  random(): number;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // Not performance.now(), which counts from the start of this process.
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
