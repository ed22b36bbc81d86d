import { describe, expect, test } from 'vitest';
import { addDays, dayOf } from '../../src/contract/time.ts';
import { MART_SCHEMA, marts } from '../../src/metrics/marts/marts.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { conventionsOf } from '../metrics/workspace.ts';
import { sampleOf } from '../support/counts.ts';
import { askService, type Mirror, openMirror } from './mirror.ts';

/** In `npm test`, the first zone, which is ahead of UTC, and the fourth, which is behind. */
const cases: readonly [zone: string, at: string][] = [
  ['Asia/Tokyo', '2026-03-15T20:10:00Z'],
  ['America/New_York', '2026-01-15T02:15:00Z'],
  ['Europe/Berlin', '2026-03-15T23:20:00Z'],
  ['America/New_York', '2026-01-15T04:50:00Z'],
  ['Asia/Tokyo', '2026-03-15T14:50:00Z'],
  ['America/New_York', '2026-01-15T12:00:00Z'],
  ['Pacific/Kiritimati', '2026-01-15T10:30:00Z'],
];

/** Keeps each sync to the resource under test. */
const traffic = { only: ['brands', 'traffic'] };
const HOUR_MS = 3_600_000;

/**
 * Opens a mirror. The property of the first brand is in `propertyZone`; a second brand has no property. `at` sets the time of mirror and upstream.
 */
async function openZone(propertyZone: string, start: string, { brands = 1, days = 6 } = {}) {
  const time = { ms: Date.parse(start) };
  const choices = { propertyZone };
  const conventions = conventionsOf(choices);
  const mirror = await openMirror({ brands, prompts: 1, days, choices, conventions, clock: () => time.ms });
  const at = (iso: string): void => {
    time.ms = Date.parse(iso);
  };
  const syncTraffic = async (): Promise<void> => {
    expect(await mirror.sync(traffic)).toMatchObject({ status: 'complete', warnings: [] });
  };
  return { ...mirror, at, syncTraffic, now: () => time.ms };
}

async function brandsOf({ query }: Pick<Mirror, 'query'>): Promise<string[]> {
  const rows = await query('SELECT CAST(id AS VARCHAR) AS id FROM brands ORDER BY rowid');
  return rows.map(({ id }) => String(id));
}

/** Publishes, and compares the answers of both sides, without dates and for days around the current one. */
async function expectEqual(mirror: Awaited<ReturnType<typeof openZone>>): Promise<void> {
  await mirror.publishOnly();
  const today = dayOf(mirror.now());
  for (const brand of await brandsOf(mirror)) {
    const days = [-2, -1, 0, 1].map((days) => addDays(today, days));
    const ranges = days.map((day) => `?from=${day}&to=${day}`);
    const others = ['', '?source=assistant-a', `?from=${addDays(today, -4)}`, `?to=${addDays(today, -1)}`];
    for (const range of [...others, ...ranges]) {
      const path = `/brands/${brand}/traffic${range}`;
      expect((await mirror.mirror(path)).body, path).toEqual((await mirror.upstream(path)).body);
      expect((await askService(mirror.service, path)).partial, path).toBe(false);
    }
  }
}

describe('/v1/traffic of a property in another time zone', () => {
  test.each(sampleOf(cases, 2))('in %s equals upstream after a sync at %s', async (zone, at) => {
    const mirror = await openZone(zone, at, { brands: 2 });
    await mirror.syncTraffic();
    await expectEqual(mirror);
    const [brand] = await brandsOf(mirror);
    const [row] = await mirror.query(
      `SELECT strftime(max(range_to), '%Y-%m-%d') AS last FROM traffic_totals WHERE brand_id = '${brand}' AND _deleted_at IS NULL`,
    );
    const local = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(mirror.now());
    expect(row?.['last']).toBe(local);
    // The next sync keeps the rows and the coverage of the day that is not over, or has not begun, in UTC.
    mirror.at(new Date(mirror.now() + 15 * 60_000).toISOString());
    await mirror.syncTraffic();
    await expectEqual(mirror);
  });

  test('answers by the zone between syncs, once they have shown it, and after a change of summer time', async () => {
    const mirror = await openZone('Europe/Berlin', '2026-03-15T22:50:00Z');
    await mirror.syncTraffic();
    mirror.at('2026-03-15T23:10:00Z');
    await mirror.syncTraffic();
    await mirror.publishOnly();
    const [brand] = await brandsOf(mirror);
    const range = async (reply: Promise<{ body: unknown }>) => {
      const { from, to } = (await reply).body as { from: string; to: string };
      return { from, to };
    };
    // Summer time begins on 29 March.
    for (const start of ['2026-03-20T00:00:00Z', '2026-03-31T00:00:00Z']) {
      for (let hour = 0; hour < 24; hour++) {
        mirror.at(new Date(Date.parse(start) + (hour + 0.5) * HOUR_MS).toISOString());
        const path = `/brands/${brand}/traffic`;
        expect(await range(mirror.mirror(path)), `${start} +${hour} h`).toEqual(await range(mirror.upstream(path)));
      }
    }
  });

  test('reads a day again that was over in UTC but not in the zone', async () => {
    const mirror = await openZone('America/New_York', '2026-01-15T02:15:00Z');
    await mirror.syncTraffic();
    // Days that are over for more than two days are not read in every sync.
    mirror.at('2026-01-19T15:00:00Z');
    await mirror.syncTraffic();
    await expectEqual(mirror);
    const [brand] = await brandsOf(mirror);
    const path = `/brands/${brand}/traffic?from=2026-01-14&to=2026-01-14`;
    expect((await mirror.mirror(path)).body).toEqual((await mirror.upstream(path)).body);
  });

  test('costs no request more than one in UTC', async () => {
    const requests: number[] = [];
    for (const zone of ['UTC', 'Asia/Tokyo']) {
      const { at, sync, syncTraffic } = await openZone(zone, '2026-03-15T15:10:00Z');
      await syncTraffic();
      at('2026-03-15T15:40:00Z');
      requests.push((await sync(traffic)).requests);
    }
    expect(requests[1]).toBe(requests[0]);
  });

  test('ends a requested range that ends today with the current day of the zone', async () => {
    const ahead = await openZone('Asia/Tokyo', '2026-01-15T20:10:00Z');
    await ahead.sync({ ...traffic, range: { from: '2026-01-05', to: '2026-01-15' } });
    const [last] = await ahead.query("SELECT strftime(max(date), '%Y-%m-%d') AS day FROM traffic_daily");
    expect(last?.['day']).toBe('2026-01-16');
    const { sync, syncTraffic, query } = await openZone('America/New_York', '2026-01-15T02:15:00Z');
    await syncTraffic();
    const range = { from: '2026-01-15', to: '2026-01-15' };
    expect(await sync({ ...traffic, range })).toMatchObject({ status: 'complete', failures: [] });
    const [row] = await query("SELECT strftime(max(range_to), '%Y-%m-%d') AS last FROM traffic_totals WHERE connected");
    expect(row?.['last']).toBe('2026-01-14');
  });

  test('compares no week of visits that is not over in the zone', async () => {
    const { sync, warehouse, at, query } = await openZone('America/New_York', '2026-03-15T12:00:00Z', { days: 12 });
    const weeks = async (time: string): Promise<number> => {
      at(time);
      await sync({ only: ['responses', 'traffic'] });
      await ensureViews(warehouse().database, MART_SCHEMA, marts());
      const [row] = await query('SELECT coalesce(max(weeks), 0) AS n FROM mart.visibility_vs_traffic');
      return Number(row?.['n']);
    };
    const before = await weeks('2026-03-15T12:00:00Z');
    // Sunday ends at 04:00 UTC.
    expect(await weeks('2026-03-16T02:15:00Z')).toBe(before);
    expect(await weeks('2026-03-16T04:15:00Z')).toBe(before + 1);
  });
});
