import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import type { Implausible } from '../contract/implausible.ts';

// Which time a sync run goes by.
//
// The Date header of a response decides which day it is upstream, when a row was read and which days are over. A wrong
// one would plan years that do not exist, so no single Date header is believed:
//
// 1. The first response of a run (the list of brands) is compared with this machine's clock. If both agree within an
//    hour, the difference between them is the run's offset: two independent clocks confirm each other.
// 2. Otherwise the same request is sent twice more. An offset that most of the dated responses share is the run's offset;
//    without such a majority the offset is 0, which is this machine's clock.
// 3. An offset of more than 36 hours ends the run before anything is stored, because it cannot be known which of the two
//    clocks is wrong. The setting `clock: "upstream"` raises the bound to ten years, for an upstream that is meant to be
//    at another date, such as a sandbox that was moved forward.
// 4. Every later response whose date departs from the agreed time by more than five minutes gets the agreed time. Such
//    dates are reported as drift and never stored.
// 5. A response without a Date header, or with a malformed one, gets the agreed time.

/** Greatest difference at which the first response and this machine's clock confirm each other, in milliseconds. */
const CONFIRMED_MS_MAX = 3_600_000;
/** Greatest difference between dates of responses that agree with each other, in milliseconds. */
const AGREED_MS_MAX = 5 * 60_000;
/** Responses that are compared if the first one does not confirm this machine's clock. */
const SAMPLES = 3;
/** Greatest accepted difference between upstream's clock and this machine's, by setting, in milliseconds. */
const OFFSET_MS_MAX = { checked: 36 * 3_600_000, upstream: 3_660 * 86_400_000 } as const;
/** Tolerance for times in the warehouse that lie after the run's time, in milliseconds. Later ones are wrong. */
export const FUTURE_MS_MAX = 3_600_000;

/** Which clock a workspace trusts: `checked` compares upstream's with this machine's, `upstream` follows upstream's. */
export type ClockPolicy = keyof typeof OFFSET_MS_MAX;

/** The time that a run goes by. */
export interface RunClock {
  /** Epoch milliseconds; this machine's time until `agree` has resolved. */
  now(): number;
  /**
   * Settles the offset, from the date of the run's first response (null without one). `sample` sends a cheap request and
   * resolves with the date of its response. Throws `clock_differs` if upstream's clock is too far from this machine's.
   */
  agree(first: number | null, sample: () => Promise<number | null>): Promise<void>;
  /** The date to store for a response that has just arrived with the date `received`, and the value if it was ignored. */
  dateOf(received: number | null): { readonly date: number; readonly implausible: Implausible | null };
  /** Difference between upstream's clock and this machine's that a user should know, in milliseconds; null if small. */
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
          // A response without a date confirms neither of the two clocks, so it counts for this machine's.
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
      // In whole seconds, as a Date header is: times of one run stay comparable.
      const date = Math.floor(agreed / 1000) * 1000;
      if (received === null) return { date, implausible: null };
      const value = new Date(received).toUTCString();
      return { date, implausible: { path: 'header date', allowed: "within 5 minutes of the run's clock", value } };
    },
    difference: () => (Math.abs(offset) > CONFIRMED_MS_MAX ? offset : null),
  };
}

/** The median of the offsets that more than half of all offsets agree with; 0 if there is no such majority. */
export function agreeOnOffset(offsets: readonly number[]): number {
  for (const offset of offsets) {
    const near = offsets.filter((other) => Math.abs(other - offset) <= AGREED_MS_MAX).sort((a, b) => a - b);
    if (near.length * 2 > offsets.length) return near[Math.floor((near.length - 1) / 2)] as number;
  }
  return 0;
}

function clockDiffers(upstream: number, own: number, policy: ClockPolicy): SightlineError {
  const [theirs, ours] = [new Date(upstream).toISOString(), new Date(own).toISOString()];
  const allowed = `${Math.round(OFFSET_MS_MAX[policy] / 3_600_000)} hours`;
  return new SightlineError(
    'clock_differs',
    `upstream's clock says ${theirs}, this machine's says ${ours}; allowed: a difference of at most ${allowed}. ` +
      'Nothing was stored',
  );
}
