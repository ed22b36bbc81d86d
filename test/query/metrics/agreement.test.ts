import { expect, test } from 'vitest';
import { readConventions } from '../../../src/analytics/calibration/findings.ts';
import { round, share } from '../../../src/analytics/numbers/definitions.ts';
import { createService } from '../../../src/query/create-service.ts';
import { runMetrics } from '../../../src/query/metrics/run-metrics.ts';
import type { MetricsSource } from '../../../src/query/metrics/table-result.ts';
import { REPLICA_OPTIONS } from '../../../src/warehouse/replica.ts';
import { hurriedClock } from '../../support/clocks.ts';
import { askService } from '../mirror.ts';
import { NOW_MS, openRandomWorld, type WorldSettings } from './random-world.ts';

type Row = Readonly<Record<string, unknown>>;

const worlds: readonly WorldSettings[] = [
  { seed: 5, responses: 4_000, labels: null, repeats: false },
  { seed: 6, responses: 4_000, labels: { positive: 2, mixed: 1, negative: -2 }, repeats: true },
];

async function rowsOf(source: MetricsSource, given: string): Promise<Row[]> {
  const { columns, rows } = await runMetrics(source, new URLSearchParams(given));
  return rows.map((row) => Object.fromEntries(row.map((value, index) => [String(columns[index]?.name), value])));
}

test.each(worlds)('measures agree with the marts in world $seed', async (settings) => {
  const { source, query } = await openRandomWorld(settings);
  const periods = await query(
    'SELECT CAST(brand_id AS VARCHAR), CAST(recent_from AS VARCHAR), CAST(anchor_day AS VARCHAR) FROM mart.periods',
  );
  expect(periods.length).toBe(2);
  for (const [brand, from, to] of periods) {
    const range = `brand=${brand}&from=${from}&to=${to}`;
    const changes = await query(
      `SELECT measure, before_responses, before_value, recent_responses, recent_part, recent_whole, recent_value, change
       FROM mart.brand_changes WHERE brand_id = CAST($1 AS UUID) ORDER BY measure`,
      [String(brand)],
    );
    const names = changes.map(([measure]) => String(measure));
    expect(names.length).toBeGreaterThanOrEqual(4);
    const [own = {}] = await rowsOf(source, `metrics=${names.join()}&${range}`);
    for (const [name, beforeN, before, n, part, whole, value, change] of changes) {
      const columns = ['before_n', 'before', 'n', 'numerator', 'denominator'].map((suffix) => own[`${name}_${suffix}`]);
      expect([...columns, own[`${name}`], own[`${name}_change`]], String(name)).toEqual(
        [beforeN, before, n, part, whole, value, change].map((each) => close(each)),
      );
    }
    const tested = await query(
      `SELECT CAST(prompt_id AS VARCHAR), p_value, change FROM mart.prompt_changes
       WHERE brand_id = CAST($1 AS UUID) AND scope = 'all engines' ORDER BY 1`,
      [String(brand)],
    );
    const prompts = await rowsOf(source, `metrics=visibility&group_by=prompt&${range}`);
    const found = prompts.filter((row) => row['visibility_change'] !== null);
    expect(found.map((row) => row['prompt_id']).sort()).toEqual(tested.map(([id]) => id));
    for (const [id, p, change] of tested) {
      const row = found.find((one) => one['prompt_id'] === id);
      expect([row?.['visibility_p'], row?.['visibility_change']]).toEqual([close(p), close(change)]);
    }
    const owners = await query(
      `SELECT d.owner, count(*) FROM mart.fct_citation c JOIN mart.dim_domain d USING (brand_id, domain)
       WHERE c.brand_id = CAST($1 AS UUID) AND c.day BETWEEN CAST($2 AS DATE) AND CAST($3 AS DATE) GROUP BY 1 ORDER BY 1`,
      [String(brand), String(from), String(to)],
    );
    const cited = await rowsOf(source, `metrics=citations&group_by=owner&compare_to=none&order=owner&${range}`);
    expect(cited.map((row) => [row['owner'], row['citations']])).toEqual(owners);
  }
});

test.each(worlds)('measures agree with /v1 in world $seed', async (settings) => {
  const { source, path } = await openRandomWorld(settings);
  const service = createService({
    catalogue: source.catalogue,
    path,
    clock: hurriedClock(() => NOW_MS),
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
        const { data } = (await question.answer()).body as { data: Row[] };
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

function close(value: unknown): unknown {
  return typeof value === 'number' ? expect.closeTo(value, 9) : value;
}
