import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cron, matchesDay, parseCron } from '../../src/jobs/cron-pattern.ts';
import { lastRun, nextRun } from '../../src/jobs/next-run.ts';
import { offsetAt } from '../../src/jobs/zone.ts';
import { countOf } from '../support/counts.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Zones with all kinds of clock changes: by an hour, by half an hour, at midnight, in the south, none. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'America/Santiago',
  'Asia/Kathmandu',
  'Pacific/Auckland',
];

function cronOf(text: string): Cron {
  const cron = parseCron(text);
  if (typeof cron === 'string') throw new Error(`${text}: ${cron}`);
  return cron;
}

function runs(text: string, zone: string, from: string, to: string): string[] {
  const found: string[] = [];
  const until = Date.parse(to);
  for (let at = nextRun(cronOf(text), zone, Date.parse(from) - 1); at !== null && at < until;) {
    found.push(new Date(at).toISOString().slice(5, 16));
    at = nextRun(cronOf(text), zone, at);
  }
  return found;
}

describe('the next run', () => {
  it('follows the clocks of its zone, also when they change', () => {
    expect(runs('15 2 * * *', 'UTC', '2026-03-28', '2026-03-31')).toEqual([
      '03-28T02:15',
      '03-29T02:15',
      '03-30T02:15',
    ]);
    expect(runs('0 6 * * 1', 'Europe/Berlin', '2026-03-20', '2026-04-07')).toEqual([
      '03-23T05:00',
      '03-30T04:00',
      '04-06T04:00',
    ]);
  });

  it('is not skipped when clocks are set forward', () => {
    expect(runs('30 2 * * *', 'Europe/Berlin', '2026-03-28', '2026-03-31')).toEqual([
      '03-28T01:30',
      '03-29T01:30',
      '03-30T00:30',
    ]);
    expect(runs('5 * * * *', 'Europe/Berlin', '2026-03-28T23:30:00Z', '2026-03-29T03:30:00Z')).toEqual([
      '03-29T00:05',
      '03-29T01:05',
      '03-29T02:05',
      '03-29T03:05',
    ]);
    // Clocks in Cairo skip midnight itself.
    expect(runs('0 0 * * *', 'Africa/Cairo', '2026-04-22T12:00:00Z', '2026-04-25T12:00:00Z')).toHaveLength(3);
  });

  it('is not repeated when clocks are set back, unless it is due every hour', () => {
    expect(runs('30 2 * * *', 'Europe/Berlin', '2026-10-24', '2026-10-27')).toEqual([
      '10-24T00:30',
      '10-25T00:30',
      '10-26T01:30',
    ]);
    expect(runs('5 * * * *', 'Europe/Berlin', '2026-10-24T23:30:00Z', '2026-10-25T03:30:00Z')).toEqual([
      '10-25T00:05',
      '10-25T01:05',
      '10-25T02:05',
      '10-25T03:05',
    ]);
  });

  it('matches either day field if both are restricted, and finds rare days', () => {
    expect(runs('0 0 1 * 1', 'UTC', '2026-06-01', '2026-06-16')).toEqual(['06-01T00:00', '06-08T00:00', '06-15T00:00']);
    expect(runs('0 0 2 * 1', 'UTC', '2026-06-01', '2026-06-10')).toEqual(['06-01T00:00', '06-02T00:00', '06-08T00:00']);
    expect(nextRun(cronOf('0 0 29 2 *'), 'UTC', Date.parse('2096-03-01'))).toBe(Date.parse('2104-02-29'));
    expect(lastRun(cronOf('0 0 29 2 *'), 'UTC', 0, Date.parse('2026-01-01'))).toBe(Date.parse('2024-02-29'));
  });

  // The slowest implementation of the rule: it checks every minute of the days around a clock change.
  it('equals a check of every minute, in every zone and around every clock change', () => {
    const changes = ZONES.flatMap((zone) => changesOf(zone, 2026).map((at) => ({ zone, at })));
    expect(changes.length).toBeGreaterThan(10);
    const crons = fc
      .tuple(
        fc.constantFrom('0', '30', '*/20', '15,45', '59', '*'),
        fc.constantFrom('*', '0', '1', '2', '3', '23', '*/2', '1-3', '0,12'),
        fc.constantFrom('*', '*', '29', '1-15'),
        fc.constantFrom('*', '*', '0', 'mon-fri'),
      )
      .map(([minute, hour, day, weekday]) => `${minute} ${hour} ${day} * ${weekday}`);
    fc.assert(
      fc.property(
        fc.constantFrom(...changes),
        crons,
        fc.integer({ min: -1440, max: 1440 }),
        ({ zone, at }, text, shift) => {
          const cron = cronOf(text);
          const from = at + shift * MINUTE_MS;
          const expected = everyMinute(cron, zone, at, from, from + DAY_MS).slice(0, 4);
          const found: number[] = [];
          for (let next = nextRun(cron, zone, from - 1); found.length < expected.length && next !== null;) {
            found.push(next);
            next = nextRun(cron, zone, next);
          }
          expect(found.map((moment) => new Date(moment).toISOString())).toEqual(
            expected.map((moment) => new Date(moment).toISOString()),
          );
          const [first] = expected;
          if (first !== undefined) expect(lastRun(cron, zone, from - 1, first)).toBe(first);
        },
      ),
      { numRuns: countOf(80, 1_000) },
    );
  });
});

describe('a cron expression', () => {
  it.each([
    '',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * 30 2 *',
    '* * L * *',
    '* * * * 5#2',
    'a b c d e',
  ])('is rejected if it is invalid: %j', (text) => {
    expect(parseCron(text)).toEqual(expect.any(String));
  });

  it('supports names, lists, ranges, steps, and 0 or 7 for Sunday', () => {
    const cron = cronOf('*/20 1-3,12 1 jan,JUL 0,7');
    expect([...cron.minutes]).toEqual([0, 20, 40]);
    expect([...cron.hours]).toEqual([1, 2, 3, 12]);
    expect([...cron.months]).toEqual([1, 7]);
    expect([...cron.daysOfWeek]).toEqual([0]);
  });
});

/** Returns the moments of a year at which a zone's clocks change. */
function changesOf(zone: string, year: number): number[] {
  const found: number[] = [];
  for (let day = Date.UTC(year, 0, 1); day < Date.UTC(year + 1, 0, 1); day += DAY_MS) {
    if (offsetAt(zone, day) === offsetAt(zone, day + DAY_MS)) continue;
    for (let at = day + HOUR_MS / 2; at <= day + DAY_MS; at += HOUR_MS / 2) {
      if (offsetAt(zone, at) !== offsetAt(zone, at - HOUR_MS / 2)) found.push(at);
    }
  }
  return found;
}

function everyMinute(cron: Cron, zone: string, change: number, fromMs: number, toMs: number): number[] {
  const [before, after] = [offsetAt(zone, change - MINUTE_MS), offsetAt(zone, change)];
  const matches = (wall: number): boolean => {
    const day = new Date(wall);
    const [month, dayOfMonth, dayOfWeek] = [day.getUTCMonth() + 1, day.getUTCDate(), day.getUTCDay()];
    const isTime = cron.hours.has(day.getUTCHours()) && cron.minutes.has(day.getUTCMinutes());
    return isTime && matchesDay(cron, { month, dayOfMonth, dayOfWeek });
  };
  const found: number[] = [];
  for (let at = fromMs; at < toMs; at += MINUTE_MS) {
    const isShownAgain = at >= change && at + after < change + before;
    const isDue = matches(at + (at < change ? before : after)) && (!isShownAgain || cron.isEveryHour);
    // A time that clocks skip, and would have shown without the change.
    const isSkipped = at >= change && at + before < change + after && matches(at + before);
    if (isDue || isSkipped) found.push(at);
  }
  return found;
}
