import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import type { Implausible } from '../implausible.ts';
import { shownTime } from '../time.ts';

// The time of a sync run.
//
// The Date header of a response determines upstream's current day, the time at which a row was read, and which days have
// ended. A wrong date would plan requests for years that do not exist, so a single Date header is never trusted:
//
// 1. The first response of a run (the list of brands) is compared with this machine's clock. If both agree within an
//    hour, their difference is the run's offset: two independent clocks confirm each other.
// 2. Otherwise the same request is sent twice more. An offset that most of the dated responses share is the run's offset;
//    without such a majority the offset is 0, which is this machine's clock.
// 3. An offset of more than 36 hours ends the run before anything is stored, because either clock may be wrong. The setting
//    `clock: "upstream"` raises the limit to ten years, for an upstream that uses another date on purpose, such as a sandbox
//    whose date was moved forward.
// 4. Every later response whose date departs from the agreed time by more than five minutes gets the agreed time. Such
//    dates are reported as drift and not stored.
// 5. A response without a Date header, or with a malformed one, gets the agreed time.

/** Maximum difference at which the first response and this machine's clock confirm each other, in milliseconds. */
const CONFIRMED_MS_MAX = 3_600_000;
/** Maximum difference between dates of responses that agree, in milliseconds. */
const AGREED_MS_MAX = 5 * 60_000;
/** Number of responses to compare if the first one does not confirm this machine's clock. */
const SAMPLES = 3;
/** Start of the message of `clock_differs`. */
const CLOCK_MESSAGE = "upstream's clock is at";
/** Maximum accepted difference between upstream's clock and this machine's, by setting, in milliseconds. */
const OFFSET_MS_MAX = { checked: 36 * 3_600_000, upstream: 3_660 * 86_400_000 } as const;
/** Times in the warehouse may be up to this many milliseconds after the run's time. Later times are wrong. */
export const FUTURE_MS_MAX = 3_600_000;

/** `checked` compares upstream's clock with this machine's; `upstream` follows upstream's clock. */
export type ClockPolicy = keyof typeof OFFSET_MS_MAX;

/** Clock of one run. */
export interface RunClock {
  /** Epoch milliseconds; this machine's time until `agree` has resolved. */
  now(): number;
  /**
   * Determines the offset from the date of the run's first response (epoch milliseconds; null without a Date header). `sample`
   * sends a cheap request and resolves with the date of its response.
   * @throws `clock_differs` if upstream's clock is too far from this machine's
   */
  agree(first: number | null, sample: () => Promise<number | null>): Promise<void>;
  /** Returns the date to store for a response with the Date header `received`, and the header's value if it was ignored. */
  dateOf(received: number | null): { readonly date: number; readonly implausible: Implausible | null };
  /** Difference between upstream's clock and this machine's, in milliseconds; null if at most an hour. */
  difference(): number | null;
}

/** Creates the clock of one run over this machine's clock. */
export function createRunClock(clock: Clock, policy: ClockPolicy = 'checked'): RunClock {
  let offset = 0;
  const now = (): number => clock.now() + offset;
  return {
    now,
    agree: async (first, sample) => {
      if (first === null) return;
      const dates = [first];
      const offsets = [first - clock.now()];
      if (Math.abs(offsets[0] as number) > CONFIRMED_MS_MAX) {
        while (offsets.length < SAMPLES) {
          // A response without a date counts for this machine's clock.
          const date = (await sample()) ?? clock.now();
          dates.push(date);
          offsets.push(date - clock.now());
        }
      }
      const agreed = agreeOnOffset(offsets);
      const date = dates[offsets.indexOf(agreed)] ?? clock.now();
      if (Math.abs(agreed) > OFFSET_MS_MAX[policy]) throw clockDiffers(date, clock.now(), policy);
      offset = agreed;
    },
    dateOf: (received) => {
      const agreed = now();
      if (received !== null && Math.abs(received - agreed) <= AGREED_MS_MAX)
        return { date: received, implausible: null };
      // Whole seconds, like a Date header, so that times of one run stay comparable.
      const date = Math.floor(agreed / 1000) * 1000;
      if (received === null) return { date, implausible: null };
      const value = new Date(received).toUTCString();
      return { date, implausible: { path: 'header date', allowed: "within 5 minutes of the run's clock", value } };
    },
    difference: () => (Math.abs(offset) > CONFIRMED_MS_MAX ? offset : null),
  };
}

/** Returns the median of the offsets that agree with more than half of all offsets; 0 without such a majority. */
export function agreeOnOffset(offsets: readonly number[]): number {
  for (const offset of offsets) {
    const near = offsets.filter((other) => Math.abs(other - offset) <= AGREED_MS_MAX).sort((a, b) => a - b);
    if (near.length * 2 > offsets.length) return near[Math.floor((near.length - 1) / 2)] as number;
  }
  return 0;
}

/** Whether the error that the ledger has stored for a run, a message without its code, is `clock_differs`. */
export function isClockError(message: string | null): boolean {
  return message?.startsWith(CLOCK_MESSAGE) === true;
}

function clockDiffers(upstream: number, own: number, policy: ClockPolicy): SightlineError {
  const [theirs, ours] = [shownTime(upstream), shownTime(own)];
  const allowed = `${Math.round(OFFSET_MS_MAX[policy] / 3_600_000)} hours`;
  return new SightlineError(
    'clock_differs',
    `${CLOCK_MESSAGE} ${theirs}, this machine's at ${ours}; allowed: a difference of at most ${allowed}. ` +
      'Nothing was stored',
  );
}
