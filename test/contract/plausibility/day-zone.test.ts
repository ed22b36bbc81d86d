import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { daysIn, type EchoedDay, inferZone } from '../../../src/contract/plausibility/day-zone.ts';
import { DAY_MS } from '../../../src/contract/time.ts';
import { countOf } from '../../support/counts.ts';

const HOUR_MS = 3_600_000;
const QUARTER_MS = HOUR_MS / 4;
const START = Date.parse('2026-01-01T00:00:00Z');
const YEAR_MS = 365 * DAY_MS;
const ZONES = Intl.supportedValuesOf('timeZone');

/** What upstream echoes to requests without `to` at these times, newest first. */
const echoesAt = (zone: string, times: readonly number[]): EchoedDay[] =>
  times.toSorted((a, b) => b - a).map((at) => ({ at, day: daysIn(zone)(at) }));

const daysOfEchoes = (echoed: readonly EchoedDay[]) => daysIn(inferZone(echoed));

const every = (stepMs: number, from = START, to = START + YEAR_MS): number[] =>
  Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, index) => from + index * stepMs);

describe('the days of a time zone', () => {
  test('agree with every echoed day, of any zone and at any times of syncs', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.array(fc.nat(YEAR_MS), { minLength: 1, maxLength: 60 }),
        (zone, ages) => {
          const echoed = echoesAt(
            zone,
            ages.map((age) => START + age),
          );
          const days = daysOfEchoes(echoed);
          // A day is chosen within a minute of its Date header.
          for (const { at, day } of echoed)
            expect([days(at - 60_000), days(at), days(at + 60_000)], zone).toContain(day);
        },
      ),
    );
  });

  test('are those of the zone all year after a sync in every quarter of an hour, in both seasons', () => {
    const seasons = [START, START + 182 * DAY_MS];
    const times = seasons.flatMap((start) => every(QUARTER_MS, start, start + DAY_MS));
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), fc.nat(YEAR_MS), (zone, age) => {
        // Zones differ in the days on which summer time begins.
        const at = START + age;
        const isNearChange = [-28, 28].some((days) => offsetOf(zone, at + days * DAY_MS) !== offsetOf(zone, at));
        fc.pre(!isNearChange);
        expect(daysOfEchoes(echoesAt(zone, times))(at), zone).toBe(daysIn(zone)(at));
      }),
      { numRuns: countOf(15, 100) },
    );
  });

  test.each(['Asia/Kolkata', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'America/St_Johns', 'Pacific/Chatham'])(
    'of %s are known after two syncs around its midnight, outside of the preferred zones too',
    (zone) => {
      const midnight = every(QUARTER_MS).find((at) => daysIn(zone)(at) !== daysIn(zone)(at - QUARTER_MS)) ?? 0;
      const days = daysOfEchoes(echoesAt(zone, [midnight - 2 * 60_000, midnight + 2 * 60_000]));
      for (const at of every(QUARTER_MS, START, START + 7 * DAY_MS)) expect(days(at), zone).toBe(daysIn(zone)(at));
    },
  );

  test('follow summer time that no sync has seen', () => {
    const midnight = Date.parse('2026-01-15T23:00:00Z');
    const days = daysOfEchoes(echoesAt('Europe/Berlin', [midnight - QUARTER_MS, midnight + QUARTER_MS]));
    for (const at of every(QUARTER_MS, START + 150 * DAY_MS, START + 160 * DAY_MS))
      expect(days(at)).toBe(daysIn('Europe/Berlin')(at));
  });

  test('follow the newest syncs if the zone of the property has changed', () => {
    const [before, after] = [
      every(HOUR_MS, START, START + 3 * DAY_MS),
      every(HOUR_MS, START + 3 * DAY_MS, START + 5 * DAY_MS),
    ];
    const days = daysOfEchoes([...echoesAt('America/New_York', after), ...echoesAt('Asia/Tokyo', before)]);
    for (const at of every(HOUR_MS, START + 3 * DAY_MS, START + 9 * DAY_MS))
      expect(days(at)).toBe(daysIn('America/New_York')(at));
  });

  test('are those of UTC without syncs, and as long as no sync excludes it', () => {
    expect(inferZone([])).toBe('UTC');
    expect(inferZone(echoesAt('Asia/Tokyo', [START + 3 * HOUR_MS, START + 27 * HOUR_MS]))).toBe('UTC');
    expect(inferZone(echoesAt('Asia/Tokyo', [START + 16 * HOUR_MS]))).toBe('Asia/Tokyo');
  });
});

// Hours that the zone is ahead of UTC, times 4.
function offsetOf(zone: string, at: number): number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  return Math.round((Date.parse(`${format.format(at).replace(' ', 'T')}Z`) - at) / QUARTER_MS);
}
