import { expect, test } from 'vitest';
import { readConventions } from '../../../src/analytics/calibration/findings.ts';
import { round, share } from '../../../src/analytics/numbers/definitions.ts';
import { createService } from '../../../src/query/create-service.ts';
import { runMetrics } from '../../../src/query/metrics/run-metrics.ts';
import type { MetricsSource } from '../../../src/query/metrics/table-result.ts';
import { REPLICA_OPTIONS } from '../../../src/warehouse/replica.ts';
import { leapingClock } from '../../support/clocks.ts';
import { sampleOf } from '../../support/counts.ts';
import { askService, type NamedRow, recordsOf } from '../mirror.ts';
import { NOW_MS, openRandomWorld, type WorldSettings } from './random-world.ts';

const worlds: readonly WorldSettings[] = [
  { seed: 5, responses: 1_500, labels: null, repeats: false },
  { seed: 6, responses: 1_500, labels: { positive: 2, mixed: 1, negative: -2 }, repeats: true },
];

async function rowsOf(source: MetricsSource, given: string): Promise<NamedRow[]> {
  return recordsOf(await runMetrics(source, new URLSearchParams(given)));
}

test.each(sampleOf(worlds, 1, 1))('measures agree with /v1 in world $seed', async (settings) => {
  const { source, path } = await openRandomWorld(settings);
  const service = createService({
    catalogue: source.catalogue,
    path,
    clock: leapingClock(NOW_MS),
    cursorSecret: new Uint8Array(32),
    replica: REPLICA_OPTIONS,
    readConventions,
  });
  const { conventions } = source.replica;
  try {
    for (const brand of source.replica.brands.keys()) {
      for (const [theirs, ours] of [
        ['', ''],
        ['&engine=claude', '&engine=claude'],
        ['&branded=branded', '&branded=branded'],
      ] as const) {
        const range = 'from=2026-02-01&to=2026-02-20';
        const question = await askService(service, `/brands/${brand}/metrics?${range}${theirs}`);
        const { data } = (await question.answer()).body as { data: NamedRow[] };
        const measured = await rowsOf(
          source,
          `metrics=visibility,share_of_voice,position,sentiment&group_by=entity&compare_to=none&brand=${brand}&${range}${ours}`,
        );
        expect(measured.length).toBe(data.length);
        for (const reported of data) {
          const row = measured.find((one) => one['competitor_id'] === reported['competitorId']) ?? {};
          const shareOf = (name: 'visibility' | 'share_of_voice', form: typeof conventions.visibility): unknown =>
            share(conventions, form, Number(row[`${name}_numerator`]), Number(row[`${name}_denominator`]));
          expect({ name: row['entity'], ...reported }).toMatchObject({
            visibility: shareOf('visibility', conventions.visibility),
            shareOfVoice: shareOf('share_of_voice', conventions.shareOfVoice),
            avgPosition: round(conventions.avgPosition, row['position'] as number | null) ?? conventions.emptyMean,
            sentiment: round(conventions.sentiment, row['sentiment'] as number | null) ?? conventions.emptyMean,
          });
        }
      }
    }
  } finally {
    await service.close();
  }
});

test('visits without a connected property are null, and amounts in several currencies are not added', async () => {
  const measures = 'metrics=ai_sessions,revenue';
  const recent = 'from=2026-02-20&to=2026-03-10&compare_to=none';
  const both = 'from=2026-01-05&to=2026-01-20&compare_to=none';
  // Brand 1 is no longer connected, and its last visits are older. In odd worlds its currency is another one.
  for (const { seed, isAdded } of [
    { seed: 7, isAdded: false },
    { seed: 8, isAdded: true },
  ]) {
    const { source, query } = await openRandomWorld({ seed, responses: 50, labels: null, repeats: false });
    expect(await rowsOf(source, `${measures}&${recent}&brand=Brand 1`)).toMatchObject([
      { ai_sessions: null, ai_sessions_numerator: null, ai_sessions_n: 0, revenue: null, revenue_numerator: null },
    ]);
    expect(await rowsOf(source, `${measures}&from=2025-01-05&to=2025-01-06&brand=Brand 0`)).toMatchObject([
      { ai_sessions: 0, ai_sessions_before: null, ai_sessions_change: null, revenue: 0 },
    ]);
    // Its visits of earlier days are reported, and compared with nothing later.
    const [later] = await rowsOf(source, `${measures}&from=2026-02-20&to=2026-03-10&group_by=brand&brand=Brand 1`);
    expect(later).toMatchObject({
      ai_sessions: null,
      ai_sessions_change: null,
      ai_sessions_before: expect.any(Number),
    });

    const sums = await query(
      `SELECT b.name, sum(t.revenue) FROM mart.fct_traffic_daily t JOIN mart.dim_brand b USING (brand_id)
       WHERE day BETWEEN DATE '2026-01-05' AND DATE '2026-01-20' GROUP BY 1 ORDER BY 1`,
    );
    const byBrand = await rowsOf(source, `${measures}&${both}&group_by=brand&order=brand`);
    expect(byBrand.map((row) => [row['brand'], row['revenue']])).toEqual(sums.map(([name, sum]) => [name, close(sum)]));
    const total = sums.reduce((sum, [, revenue]) => sum + Number(revenue), 0);
    const [all = {}] = await rowsOf(source, `${measures}&${both}`);
    expect(all['revenue']).toEqual(isAdded ? close(total) : null);
    expect(all['revenue_numerator']).toEqual(all['revenue']);
    expect(all['ai_sessions']).toBeGreaterThan(0);
  }
});

function close(value: unknown): unknown {
  return typeof value === 'number' ? expect.closeTo(value, 9) : value;
}
