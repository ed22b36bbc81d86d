import { expect, test } from 'vitest';
import { explainMetric } from '../../../src/read/metrics/explanations.ts';
import { runDeclaredQuery } from '../../../src/read/metrics/run-declared.ts';
import { runMetrics } from '../../../src/read/metrics/run-metrics.ts';
import type { MetricsSource } from '../../../src/read/metrics/table-result.ts';
import { coverageOf, openWritten, type Written } from '../../support/written.ts';
import { recordsOf } from '../mirror.ts';

const NOW_MS = Date.parse('2026-03-11T09:30:00Z');
const RANGE = 'from=2026-03-01&to=2026-03-10';

/** Days of responses and visits of a brand: one response with the brand, one without, and 10 visits a day. */
interface Days {
  readonly name: string;
  readonly first: string;
}

async function openDays(brands: readonly Days[], coveredFrom = '2026-01-01'): Promise<MetricsSource> {
  const { run, source } = await openWrittenDays(brands);
  await run(coverageOf(coveredFrom, '2026-03-10', '2026-03-11 02:00:00'));
  return source(NOW_MS);
}

async function openWrittenDays(brands: readonly Days[]): Promise<Written> {
  const written = await openWritten();
  for (const { name, first } of brands) {
    const brand = `CAST(md5('${name}') AS UUID)`;
    const days = `unnest(generate_series(TIMESTAMP '${first} 10:00:00', TIMESTAMP '2026-03-10 10:00:00', INTERVAL 1 DAY))`;
    await written.run(
      `INSERT INTO brands BY NAME SELECT ${brand} AS id, '${name}' AS name, 'https://own.example' AS website_url, DATE '2026-01-01' AS created_at`,
      `INSERT INTO responses BY NAME SELECT ${brand} AS brand_id, uuid() AS id, CAST(md5('prompt ${name}') AS UUID) AS prompt_id, 'claude' AS engine,
         day AT TIME ZONE 'UTC' AS created_at, m AS brand_mentioned FROM (SELECT ${days} AS day), (SELECT unnest([true, false]) AS m)`,
      `INSERT INTO response_citations BY NAME SELECT r.brand_id, r.id AS response_id, r.prompt_id, r.engine, r.created_at, 0 AS ordinal,
         'https://own.example/page' AS url, 'own.example' AS domain FROM responses r WHERE r.brand_id = ${brand}`,
      `INSERT INTO traffic_daily BY NAME SELECT ${brand} AS brand_id, CAST(day AS DATE) AS date, 'assistant' AS source, 10 AS sessions FROM (SELECT ${days} AS day)`,
      `INSERT INTO traffic_totals BY NAME SELECT ${brand} AS brand_id, DATE '2026-01-01' AS range_from, DATE '2026-03-10' AS range_to,
         true AS connected, TIMESTAMP '2026-03-11 02:00:00' AS _synced_at`,
    );
  }
  return written;
}

const asked = 'metrics=responses,visibility,citations,ai_sessions&group_by=brand';

test('an earlier period that begins before the first stored day is not compared', async () => {
  const source = await openDays([
    { name: 'Old', first: '2026-01-05' },
    // The earlier period, 19 to 28 February, has only 4 days: visits would rise by 150 %.
    { name: 'Young', first: '2026-02-25' },
  ]);
  const result = await runMetrics(source, new URLSearchParams(`${asked}&${RANGE}`));
  const rows = new Map(recordsOf(result).map((row) => [row['brand'], row]));
  expect(rows.get('Old')).toMatchObject({
    ...{ responses: 20, responses_before: 20, responses_change: 0, visibility_before: 0.5, visibility_change: 0 },
    ...{ citations_change: 0, ai_sessions: 100, ai_sessions_before: 100, ai_sessions_change: 0 },
  });
  expect(rows.get('Young')).toMatchObject({
    ...{
      responses: 20,
      responses_before: null,
      responses_change: null,
      visibility_before: null,
      visibility_change: null,
    },
    ...{ visibility_p: null, visibility_significant: null, visibility_before_n: 0, citations_change: null },
    ...{ ai_sessions: 100, ai_sessions_before: null, ai_sessions_change: null },
  });
  expect(result.notCompared).toBe(
    'No comparison with 19 to 28 Feb 2026: the responses of Young begin on 25 Feb 2026. No comparison with 19 to 28 Feb 2026: the visits of Young begin on 25 Feb 2026.',
  );
  // A sum over both brands would rise too.
  const [both] = recordsOf(await runMetrics(source, new URLSearchParams(`metrics=responses,ai_sessions&${RANGE}`)));
  expect(both).toMatchObject({ responses: 40, responses_change: null, ai_sessions: 200, ai_sessions_change: null });
  const whole = await runMetrics(source, new URLSearchParams('metrics=ai_sessions&from=2026-03-06&to=2026-03-10'));
  expect(recordsOf(whole)).toMatchObject([{ ai_sessions_before: 100, ai_sessions_change: 0 }]);
  expect(whole.notCompared).toBeNull();
  const none = await runMetrics(source, new URLSearchParams(`${asked}&${RANGE}&compare_to=none`));
  expect(none.notCompared).toBeNull();
});

test('queries and explanations of a brand without a comparison give the reason instead', async () => {
  const source = await openDays([{ name: 'Young', first: '2026-02-25' }]);
  const reason = 'No comparison with 19 to 28 Feb 2026: the responses of Young begin on 25 Feb 2026.';
  const sources = await runDeclaredQuery(source, 'traffic_sources', new URLSearchParams(`brand=Young&${RANGE}`));
  expect(recordsOf(sources)).toMatchObject([{ sessions: 100, sessions_before: null }]);
  expect(sources.notCompared).toContain('visits of Young');
  for (const name of ['cited_pages', 'own_cited_pages']) {
    const pages = await runDeclaredQuery(source, name, new URLSearchParams(`brand=Young&${RANGE}`));
    expect(recordsOf(pages)).toMatchObject([{ citations: 20, before_citations: null }]);
    expect(pages.notCompared).toBe(reason);
  }
  const own = await runDeclaredQuery(source, 'prompt_list', new URLSearchParams(`brand=Young&${RANGE}`));
  expect(own.notCompared).toBeNull();
  const explained = await explainMetric(source, new URLSearchParams(`metric=visibility&${RANGE}`));
  expect(explained).toMatchObject({
    summary: reason,
    total: { before: null, after: 0.5, change: null, verdict: 'not tested', nBefore: 0, nAfter: 20 },
    causes: [],
  });
});

test('days that were not read completely, and a day that is not over, are not compared', async () => {
  const source = await openDays([{ name: 'Old', first: '2026-01-05' }], '2026-02-22');
  const unread = await runMetrics(source, new URLSearchParams(`metrics=responses&${RANGE}`));
  expect(recordsOf(unread)).toMatchObject([{ responses: 20, responses_before: null, responses_change: null }]);
  expect(unread.notCompared).toBe(
    'No comparison with 19 to 28 Feb 2026: the responses of Old were not read on each day of 19 to 28 Feb 2026.',
  );
  const open = await runMetrics(source, new URLSearchParams('metrics=responses&from=2026-03-05&to=2026-03-11'));
  expect(recordsOf(open)).toMatchObject([{ responses: 12, responses_change: null }]);
  expect(open.notCompared).toBe('No comparison with 26 Feb to 4 Mar 2026: 11 Mar 2026 is not over.');
});

test('marts have no earlier period if the responses begin later, or if days that upstream counts were not read', async () => {
  const written = await openWrittenDays([
    { name: 'Old', first: '2026-01-05' },
    { name: 'Young', first: '2026-01-25' },
  ]);
  await written.run(coverageOf('2026-01-01', '2026-03-10', '2026-03-11 02:00:00'));
  const periods = async (): Promise<unknown> =>
    written.query(
      `SELECT b.name, CAST(p.before_from AS VARCHAR), CAST(p.recent_from AS VARCHAR), CAST(c.before_value AS DOUBLE), c.recent_value, c.change
       FROM mart.periods p JOIN mart.dim_brand b USING (brand_id) JOIN mart.brand_changes c USING (brand_id)
       WHERE c.measure = 'visibility' ORDER BY b.name`,
    );
  const young = ['Young', null, '2026-02-11', null, 0.5, null];
  expect(await periods()).toEqual([['Old', '2026-01-14', '2026-02-11', 0.5, 0.5, 0], young]);
  expect(await written.query('SELECT state, before_citations FROM mart.own_pages ORDER BY state')).toEqual([
    ['cited', null],
    ['kept', 56],
  ]);
  // Upstream counts responses on a day that was not read.
  await written.run(
    "UPDATE sync.coverage SET range_from = DATE '2026-01-21'",
    `INSERT INTO metrics_daily BY NAME SELECT id AS brand_id, 'none' AS row_mode, DATE '2026-01-20' AS date, 5 AS responses FROM brands`,
  );
  expect(await periods()).toEqual([['Old', null, '2026-02-11', null, 0.5, null], young]);
});
