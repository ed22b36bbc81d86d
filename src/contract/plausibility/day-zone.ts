import { dayOf } from '../time.ts';

// The days of visits are days of the analytics property's time zone, which upstream does not name. A request without `to` is
// answered up to the property's current day, and the response repeats that day. Each such day excludes the zones in which it was
// another day at that time. Zones have their own rules of summer time, so days of one season also count in the other one.

/** A day that upstream used for `to` because the request had none, and upstream's time of the response, epoch milliseconds. */
export interface EchoedDay {
  readonly at: number;
  readonly day: string;
}

/** Returns the day (`YYYY-MM-DD`) of a time in epoch milliseconds. */
export type DayOf = (atMs: number) => string;

/** Maximum time between the choice of a day and the Date header of its response, in milliseconds. */
const TOLERANCE_MS = 60_000;

/** Zones that are preferred, in this order, as long as the echoed days do not exclude them. */
const COMMON_ZONES = [
  'Europe/London',
  'Europe/Berlin',
  'Europe/Athens',
  'Asia/Dubai',
  'Asia/Kolkata',
  'Asia/Tokyo',
  'Asia/Singapore',
  'Australia/Sydney',
  'America/New_York',
  'America/Chicago',
  'America/Denver',
  'America/Los_Angeles',
  'America/Sao_Paulo',
];

/** Returns the function that converts times to days of an IANA time zone. */
export function daysIn(zone: string): DayOf {
  if (zone === 'UTC') return dayOf;
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' });
  return (atMs) => format.format(atMs);
}

/**
 * Infers the IANA time zone of echoed days, newest first: UTC unless a day excludes it. If no zone agrees with all of them, the
 * newest ones decide, because the zone of a property can be changed.
 */
export function inferZone(echoed: readonly EchoedDay[]): string {
  let best = { zone: 'UTC', agreed: agreedBy('UTC', echoed) };
  for (const zone of [...COMMON_ZONES, ...Intl.supportedValuesOf('timeZone')]) {
    if (best.agreed === echoed.length) break;
    const agreed = agreedBy(zone, echoed);
    if (agreed > best.agreed) best = { zone, agreed };
  }
  return best.zone;
}

// Number of the newest echoed days that agree, up to the first one that does not.
function agreedBy(zone: string, echoed: readonly EchoedDay[]): number {
  const days = daysIn(zone);
  const differing = echoed.findIndex(
    ({ at, day }) => day !== days(at) && day !== days(at - TOLERANCE_MS) && day !== days(at + TOLERANCE_MS),
  );
  return differing < 0 ? echoed.length : differing;
}
