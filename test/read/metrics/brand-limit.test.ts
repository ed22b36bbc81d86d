import { expect, test } from 'vitest';
import { SightlineError } from '../../../src/base/errors.ts';
import { dimensions } from '../../../src/metrics/model/dimensions.ts';
import { measures } from '../../../src/metrics/model/measures.ts';
import { declaredQueries } from '../../../src/metrics/queries/declared-queries.ts';
import { dimensionValues } from '../../../src/read/metrics/dimension-values.ts';
import { explainMetric, listChanges, listOpportunities } from '../../../src/read/metrics/explanations.ts';
import { runDeclaredQuery } from '../../../src/read/metrics/run-declared.ts';
import { runMetrics } from '../../../src/read/metrics/run-metrics.ts';
import type { MetricsSource } from '../../../src/read/metrics/table-result.ts';
import type { Query } from '../../../src/warehouse/database.ts';
import { countOf } from '../../support/counts.ts';
import { sourceBefore } from './source-before.ts';

const shared = sourceBefore('small');
const NAMES = /(^|_)(name|text|prompt|headline|title|question)$/;

/** Ids and names in all tables with `brand_id`, by brand. */
async function valuesByBrand(query: Query): Promise<Map<string, Set<string>>> {
  const columns = await query(
    `SELECT c.table_name, c.column_name, c.data_type FROM duckdb_columns() c
     JOIN duckdb_tables() t USING (database_name, schema_name, table_name)
     WHERE schema_name = 'main' AND NOT c.internal AND (c.data_type = 'UUID' OR c.data_type = 'VARCHAR')
       AND (table_name = 'brands' OR table_name IN (SELECT table_name FROM duckdb_columns() WHERE column_name = 'brand_id'))`,
  );
  const found = new Map<string, Set<string>>();
  for (const [table, column, type] of columns.map((row) => row.map(String) as [string, string, string])) {
    if (column.startsWith('_') || (type !== 'UUID' && !NAMES.test(column))) continue;
    const brand = table === 'brands' ? 'id' : 'brand_id';
    const rows = await query(
      `SELECT DISTINCT CAST(${brand} AS VARCHAR), CAST("${column}" AS VARCHAR) FROM main."${table}" WHERE "${column}" IS NOT NULL`,
    );
    for (const [owner, value] of rows.map((row) => row.map(String) as [string, string])) {
      // Short names may be a part of other texts.
      if (value.length >= 5) found.set(owner, (found.get(owner) ?? new Set()).add(value));
    }
  }
  return found;
}

test('a key for one brand gets no id or name of another brand from any declared query or measure', async () => {
  const all = shared();
  const { replica } = all;
  const values = await replica.replica.work((query) => valuesByBrand(query));
  const [own, other] = [...replica.brands.keys()] as [string, string];
  const mine = values.get(own) ?? new Set();
  const secrets = [...(values.get(other) ?? [])].filter((value) => !mine.has(value));
  const limited: MetricsSource = { ...all, brands: [own] };
  const leaksOf = (text: string, given: URLSearchParams): string[] =>
    secrets.filter((value) => text.includes(value) && ![...given.values()].includes(value));
  expect(secrets.length).toBeGreaterThan(50);

  const answered = new Set<string>();
  const check = async (name: string, given: URLSearchParams, run: () => Promise<object>): Promise<void> => {
    const label = `${name}?${given}`;
    try {
      const result = await run();
      answered.add(name);
      const shown = 'sql' in result ? { ...result, sql: null } : result;
      expect(leaksOf(JSON.stringify(shown), given), label).toEqual([]);
    } catch (thrown) {
      if (!(thrown instanceof SightlineError)) throw thrown;
      expect(leaksOf(thrown.message, given), label).toEqual([]);
    }
  };

  const uuids = (from: Iterable<string>): string[] => [...from].filter((value) => /^[0-9a-f-]{36}$/.test(value));
  const idsOf = (from: Iterable<string>): string[] =>
    uuids(from)
      .filter((_value, index) => index % 11 === 0)
      .slice(0, countOf(1, 25));
  for (const { name, parameters } of declaredQueries()) {
    const required = parameters.filter(({ standard }) => standard === undefined);
    const attempts: Record<string, string>[] = required.length === 0 ? [{}, { brand: other }] : [];
    for (const { name: parameter, type, oneOf } of parameters.filter(
      ({ type }) => type === 'UUID' || type === 'VARCHAR',
    )) {
      const choices = oneOf ?? (type === 'UUID' ? [...idsOf(secrets), ...idsOf(mine)] : secrets.slice(0, 1));
      attempts.push(...choices.map((value) => ({ [parameter]: value })));
    }
    for (const attempt of attempts) {
      const rest = Object.fromEntries(
        required.map(({ name: parameter, type }) => [
          parameter,
          type === 'UUID' ? String(idsOf(mine)[0]) : type === 'DATE' ? '2026-01-01' : '1',
        ]),
      );
      const given = new URLSearchParams({ ...rest, ...attempt });
      await check(name, given, () => runDeclaredQuery(limited, name, given));
    }
  }
  for (const { name: dimension } of dimensions) {
    const fit = measures.filter(({ dimensions: allowed, requires }) => (requires ?? allowed).includes(dimension));
    const given = new URLSearchParams({ group_by: dimension, compare_to: 'none' });
    for (const { name } of fit) given.append('metrics', name);
    await check(`measures by ${dimension}`, given, () => runMetrics(limited, given));
    expect(answered).toContain(`measures by ${dimension}`);
    for (const attempt of [{}, { search: 'e' }, { brand: other }]) {
      const given = new URLSearchParams({ dimension, ...attempt });
      await check(`values of ${dimension}`, given, () => dimensionValues(limited, given));
    }
    expect(answered).toContain(`values of ${dimension}`);
  }
  const explanations = { explainMetric, listChanges, listOpportunities };
  for (const [name, run] of Object.entries(explanations)) {
    const required =
      name === 'explainMetric' ? { metric: 'visibility' } : name === 'listChanges' ? { since: '60d' } : {};
    for (const attempt of [{}, { brand: other }]) {
      const given = new URLSearchParams({ ...required, ...attempt } as Record<string, string>);
      await check(name, given, () => run(limited, given));
    }
    expect(answered).toContain(name);
  }
  const drift = await listChanges(all, new URLSearchParams('since=60d'));
  expect(drift.changes.some(({ brandId }) => brandId === other)).toBe(true);
  expect(declaredQueries().filter(({ name }) => !answered.has(name))).toEqual([]);
  // Without a limit the other brand is found, so the test can fail.
  const everything = await runDeclaredQuery(all, 'brands', new URLSearchParams());
  expect(leaksOf(JSON.stringify(everything.rows), new URLSearchParams())).toContain(other);
});
