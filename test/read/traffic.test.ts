import { describe, expect, test } from 'vitest';
import type { Choices } from '../../schemas/fixtures/choices.ts';
import { addDays } from '../../src/contract/time.ts';
import { BACKFILL_REQUESTS_MAX } from '../../src/warehouse/ledger/reported-totals.ts';
import { readStatus } from '../../src/warehouse/ledger/warehouse-status.ts';
import { conventionsOf } from '../metrics/workspace.ts';
import { NOW_MS } from '../support/clocks.ts';
import { sampleOf } from '../support/counts.ts';
import { openWorkspace } from '../support/workspace.ts';
import { askService, type Mirror, openMirror } from './mirror.ts';

const TODAY = new Date(NOW_MS).toISOString().slice(0, 10);
const dayBefore = (days: number): string => addDays(TODAY, -days);
/** Keeps each sync to the resource under test. */
const traffic = { only: ['brands', 'traffic'] };
const small = { brands: 1, prompts: 1, responsesPerDay: 1 } as const;

/** Choices of upstream, which the mirror knows without a calibration. */
const known = (choices: Partial<Choices>) => ({ choices, conventions: conventionsOf(choices) });

async function trafficOf({ query }: Mirror): Promise<(from: string, to: string) => string> {
  const [brand] = await query('SELECT CAST(id AS VARCHAR) AS id FROM brands');
  return (from, to) => `/brands/${brand?.['id']}/traffic?from=${from}&to=${to}`;
}

describe('/v1/traffic', () => {
  test('is exact for the last 30 days after the first sync; older days are partial until later syncs have read them', async () => {
    const mirror = await openMirror({ ...small, ...known({ connected: 'all' }), days: 56 });
    await mirror.sync(traffic);
    await mirror.publishOnly();
    const path = await trafficOf(mirror);
    const [row] = await mirror.query(
      `SELECT count(*) FILTER (range_from = range_to) AS days FROM traffic_totals WHERE range_from > DATE '${dayBefore(30)}'`,
    );
    // Some days follow by subtraction.
    expect(Number(row?.['days'])).toBeLessThan(30);
    for (const from of sampleOf(
      Array.from({ length: 30 }, (_, age) => 29 - age),
      8,
    )) {
      for (const to of [from, Math.floor(from / 2), 0]) {
        const asked = path(dayBefore(from), dayBefore(to));
        expect((await mirror.mirror(asked)).body, asked).toEqual((await mirror.upstream(asked)).body);
        expect((await askService(mirror.service, asked)).partial, asked).toBe(false);
      }
    }
    const older = path(dayBefore(55), dayBefore(54));
    expect((await askService(mirror.service, older)).partial).toBe(true);
    // The range that the sync itself requested.
    const whole = path(dayBefore(364), TODAY);
    expect((await askService(mirror.service, whole)).partial).toBe(false);
    expect((await mirror.mirror(whole)).body).toEqual((await mirror.upstream(whole)).body);
    const backfill = async () =>
      (await mirror.warehouse().database.exclusive(({ query }) => readStatus(query, mirror.catalogue, NOW_MS)))
        .backfill;
    const [before] = await backfill();
    expect(before?.days).toBeGreaterThan(0);
    for (let run = 0; (await backfill()).length > 0; run += 1) {
      expect(run).toBeLessThan(5);
      const { requests } = await mirror.sync(traffic);
      expect(requests).toBeLessThan(BACKFILL_REQUESTS_MAX + 45);
    }
    await mirror.publishOnly();
    expect((await askService(mirror.service, older)).partial).toBe(false);
    expect((await mirror.mirror(older)).body).toEqual((await mirror.upstream(older)).body);
  });

  test('is exact for days and reported ranges if totals do not add up', async () => {
    const mirror = await openMirror({ ...small, ...known({ connected: 'all', siteTotals: 'unique' }), days: 10 });
    await mirror.sync(traffic);
    await mirror.publishOnly();
    const path = await trafficOf(mirror);
    for (let age = 0; age < 10; age++) {
      const asked = path(dayBefore(age), dayBefore(age));
      expect((await mirror.mirror(asked)).body, asked).toEqual((await mirror.upstream(asked)).body);
    }
    const whole = path(dayBefore(364), TODAY);
    expect((await mirror.mirror(whole)).body).toEqual((await mirror.upstream(whole)).body);
    // As after `state reset`, and in a warehouse restored from a snapshot.
    await mirror.warehouse().database.exclusive((session) => session.run('DELETE FROM sync.coverage'));
    await mirror.publishOnly();
    expect((await mirror.mirror(whole)).body).toEqual((await mirror.upstream(whole)).body);
  });

  test('of an unconnected property needs no requests for days', async () => {
    const mirror = await openWorkspace({ ...small, days: 45, choices: { connected: 'none' } });
    const { runId } = await mirror.sync(traffic);
    const [row] = await mirror.query(
      `SELECT count(*) AS n FROM sync.requests WHERE resource = 'traffic' AND run_id = CAST('${runId}' AS UUID)
         AND CAST(json_extract_string(query, '$.from') AS DATE) > DATE '${dayBefore(40)}'`,
    );
    expect(Number(row?.['n'])).toBe(0);
  });
});
