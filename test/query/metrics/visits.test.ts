import { expect, test } from 'vitest';
import { runMetrics } from '../../../src/query/metrics/run-metrics.ts';
import type { MetricsSource } from '../../../src/query/metrics/table-result.ts';
import { type NamedRow, recordsOf } from '../mirror.ts';
import { openRandomWorld } from './random-world.ts';

async function rowsOf(source: MetricsSource, given: string): Promise<NamedRow[]> {
  return recordsOf(await runMetrics(source, new URLSearchParams(given)));
}

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
