import type { Clock } from '../../../src/base/clock.ts';
import { systemClock } from '../../../src/base/clock.ts';

/** Speed of the hasty clock relative to real time: a minute takes 600 ms. */
export const HASTE = 100;

/** An accelerated clock that is equal in all processes of the machine. */
export const hastyClock: Clock = {
  now: () => systemClock.monotonic() * HASTE,
  monotonic: () => systemClock.monotonic() * HASTE,
  sleep: (ms, signal) => systemClock.sleep(ms / HASTE, signal),
  random: () => Math.random(),
};
