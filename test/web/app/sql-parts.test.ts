import { parseHTML } from 'linkedom';
import { describe, expect, test } from 'vitest';
import { fileColours } from '../../../src/web/app/charts/palette.ts';
import { KEYWORDS } from '../../../src/web/app/pages/sql/editor/duckdb-dialect.ts';
import { placeOf, withoutQuote } from '../../../src/web/app/pages/sql/editor/error-place.ts';
import { proposeNames, quoted, tableName } from '../../../src/web/app/pages/sql/editor/name-completion.ts';
import { drawResult, fits, rolesOf, seriesOf, suggestChart } from '../../../src/web/app/pages/sql/result-chart.ts';
import { openHistory } from '../../../src/web/app/pages/sql/side/query-history.ts';
import { createFormat } from '../../../src/web/app/state/format.ts';
import { readSql, sqlParams, withSql } from '../../../src/web/app/state/sql-link.ts';
import type { Table, Value } from '../../../src/web/app/state/table.ts';
import type { SqlTable } from '../../../src/web/page-data/sql-data.ts';

const tables: readonly SqlTable[] = [
  {
    schema: 'mart',
    name: 'visibility_weekly',
    kind: 'view',
    about: 'Visibility per week.',
    columns: [
      { name: 'week', type: 'DATE', about: 'The first day.' },
      { name: 'Odd "name"', type: 'VARCHAR', about: null },
    ],
  },
  {
    schema: 'main',
    name: 'brands',
    kind: 'table',
    about: null,
    columns: [{ name: 'id', type: 'UUID', about: 'The id.' }],
  },
];

function labels(text: string, isExplicit = false): readonly string[] | null {
  const at = text.indexOf('|');
  const found = proposeNames(text.replace('|', ''), at, tables, isExplicit);
  return found === null ? null : found.options.map(({ label }) => label);
}

describe('the completion of the editor', () => {
  test('proposes the columns of an alias, of a table and the tables of a schema', () => {
    const columns = ['week', 'Odd "name"'];
    expect(labels('SELECT v.| FROM mart.visibility_weekly v')).toEqual(columns);
    expect(labels('SELECT a, b FROM mart.visibility_weekly AS v WHERE v.we|')).toEqual(columns);
    expect(labels('SELECT b, v.| FROM brands b JOIN mart.visibility_weekly v ON true')).toEqual(columns);
    expect(labels('SELECT mart.visibility_weekly.|')).toEqual(columns);
    expect(labels('FROM mart.|')).toEqual(['visibility_weekly']);
    expect(labels('SELECT x.| FROM brands')).toBeNull();
  });

  test('proposes the columns of the tables of the query, all tables with their comments, and keywords', () => {
    const found = proposeNames('SELECT w FROM mart.visibility_weekly', 8, tables, false);
    expect(found?.from).toBe(7);
    const option = (label: string) => found?.options.find((each) => each.label === label);
    expect(option('week')).toMatchObject({ detail: 'DATE', info: 'The first day.' });
    expect(option('Odd "name"')).toMatchObject({ apply: '"Odd ""name"""' });
    expect(option('visibility_weekly')).toMatchObject({
      apply: 'mart.visibility_weekly',
      info: 'Visibility per week.',
      detail: 'view in mart',
    });
    expect(option('brands')).toMatchObject({ apply: 'brands' });
    expect(option('QUALIFY')).toMatchObject({ type: 'keyword' });
    expect(option('id')).toBeUndefined();
  });

  test('proposes nothing before the first letter, unless Ctrl+Space is pressed', () => {
    expect(labels('SELECT |')).toBeNull();
    expect(labels('SELECT |', true)).toContain('brands');
  });

  test('quotes reserved and odd names', () => {
    expect([quoted('week'), quoted('order'), quoted('Week')]).toEqual(['week', '"order"', '"Week"']);
    expect(tables.map(tableName)).toEqual(['mart.visibility_weekly', 'brands']);
  });

  test('has all reserved words of DuckDB that a query needs', async () => {
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const connection = await (await DuckDBInstance.create()).connect();
    const reader = await connection.runAndReadAll('SELECT keyword_name, keyword_category FROM duckdb_keywords()');
    const known = new Map(reader.getRows().map(([name, kind]) => [String(name), String(kind)]));
    const words = KEYWORDS.split(/\s+/);
    expect(words.filter((word) => !known.has(word))).toEqual([]);
    // Words of statements that change data, and of positions.
    const others =
      'analyse analyze array asymmetric check column constraint create default deferrable do for foreign initially lateral not placing primary references returning symmetric unique variadic grant pivot_longer pivot_wider';
    const reserved = [...known].filter(([, kind]) => kind === 'reserved').map(([name]) => name);
    const missing = reserved.filter((word) => !words.includes(word) && !others.split(' ').includes(word));
    expect(missing).toEqual([]);
  });
});

describe('the place of an error', () => {
  const error = (excerpt: string, line: number, column: number): string =>
    `unknown column "nam"; nearest: "name"\n\nLINE ${line}: ${excerpt}\n${' '.repeat(`LINE ${line}: `.length + column)}^`;

  test('is the marked word, with its line and column', () => {
    const sql = 'SELECT id,\n  nam\nFROM brands';
    expect(placeOf(error('  nam', 2, 2), sql)).toEqual({ line: 2, column: 3, from: 13, to: 16 });
    expect(withoutQuote(error('  nam', 2, 2))).toBe('unknown column "nam"; nearest: "name"');
  });

  test('is found in a later statement, whose lines DuckDB counts from its beginning', () => {
    const sql = 'SET VARIABLE a = 1;\n\nSELECT nam FROM brands';
    expect(placeOf(error('SELECT nam FROM brands', 1, 7), sql)).toMatchObject({ line: 3, column: 8 });
  });

  test('is found in a long line that DuckDB cuts', () => {
    const sql = `SELECT ${'x'.repeat(200)}, nam FROM brands ${'y'.repeat(200)}`;
    const place = placeOf(error('...xx, nam FROM brands yy...', 1, 7), sql);
    expect(sql.slice(place?.from, place?.to)).toBe('nam');
  });

  test('is null for an error without a place', () => {
    expect(placeOf('Parser Error: syntax error at end of input', 'SELECT 1 +')).toBeNull();
  });
});

function tableOf(columns: Readonly<Record<string, string>>, rows: readonly (readonly Value[])[]): Table {
  return {
    name: 'query',
    columns: Object.entries(columns).map(([name, type]) => ({ name, type })),
    rows,
    sql: '',
    asOf: null,
  };
}

describe('the chart of a result', () => {
  test.each([
    [
      'lines over time',
      tableOf({ week: 'DATE', id: 'BIGINT', share: 'DOUBLE' }, [
        ['2026-11-02', 1, 0.5],
        ['2026-11-09', 2, 0.6],
      ]),
      { kind: 'lines', x: 0, y: 2, by: null },
    ],
    [
      'one line for each category if times repeat',
      tableOf({ brand: 'VARCHAR', week: 'TIMESTAMP WITH TIME ZONE', n: 'BIGINT' }, [
        ['a', '2026-11-02T00:00:00Z', 1],
        ['b', '2026-11-02T00:00:00Z', 2],
      ]),
      { kind: 'lines', x: 1, y: 2, by: 0 },
    ],
    [
      'bars of the column with the most values',
      tableOf({ brand: 'VARCHAR', domain: 'VARCHAR', n: 'DECIMAL(9,2)' }, [
        ['a', 'x', 1],
        ['a', 'y', 2],
      ]),
      { kind: 'bars', x: 1, y: 2, by: null },
    ],
    [
      'points of two numbers',
      tableOf({ a: 'INTEGER', b: 'FLOAT' }, [
        [1, 2],
        [3, 4],
      ]),
      { kind: 'scatter', x: 0, y: 1, by: null },
    ],
    ['nothing without numbers', tableOf({ a: 'VARCHAR' }, [['x']]), null],
    ['nothing without rows', tableOf({ a: 'DATE', b: 'BIGINT' }, []), null],
  ])('is %s', (_, table, expected) => {
    const chart = suggestChart(table);
    expect(chart).toEqual(expected);
    if (chart === null) return;
    expect(fits(chart, rolesOf(table))).toBe(true);
    const { document } = parseHTML('<!doctype html><html><body></body></html>');
    const context = { document, theme: fileColours('light'), width: 600, format: createFormat() };
    const { svg, stops } = drawResult(table, chart, context);
    expect(svg.querySelector('style')).toBeNull();
    expect(stops.length).toBeGreaterThan(0);
  });

  test('has lines in the order of time, with the interval of the columns beside the value', () => {
    const columns = { day: 'DATE', n: 'BIGINT', n_lower: 'BIGINT', n_upper: 'BIGINT' };
    const table = tableOf(columns, [
      ['2026-11-02', 5, 4, 6],
      ['2026-11-01', 2, 1, 3],
      [null, 9, 9, 9],
    ]);
    expect(seriesOf(table, { kind: 'lines', x: 0, y: 1, by: null })).toEqual([
      {
        label: 'n',
        colour: 0,
        points: [
          { day: '2026-11-01', value: 2, lower: 1, upper: 3 },
          { day: '2026-11-02', value: 5, lower: 4, upper: 6 },
        ],
      },
    ]);
  });

  test('does not fit columns of other kinds', () => {
    const roles = rolesOf(tableOf({ a: 'VARCHAR', b: 'BIGINT', c: 'DATE' }, []));
    expect(fits({ kind: 'lines', x: 0, y: 1, by: null }, roles)).toBe(false);
    expect(fits({ kind: 'scatter', x: 2, y: 1, by: null }, roles)).toBe(false);
    expect(fits({ kind: 'bars', x: 2, y: 0, by: null }, roles)).toBe(false);
  });
});

function storage(): Storage & { readonly values: Map<string, string> } {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  } as never;
}

test('the history has each query once, newest first, and is bounded', () => {
  const stored = storage();
  const history = openHistory(stored, '/w/one');
  const past = (sql: string) => ({ sql, at: '2026-11-22T00:00:00Z', rows: 1, elapsedMs: 2 });
  for (let index = 0; index < 60; index += 1) history.add(past(`SELECT ${index}`));
  history.add(past('SELECT 30'));
  expect(history.list()).toHaveLength(50);
  expect(history.list()[0]?.sql).toBe('SELECT 30');
  expect(history.list().filter(({ sql }) => sql === 'SELECT 30')).toHaveLength(1);
  history.add(past('x'.repeat(199_990)));
  expect(history.list()).toHaveLength(2);
  expect(openHistory(stored, '/w/two').list()).toEqual([]);
  history.clear();
  expect(history.list()).toEqual([]);
  stored.setItem('sightline-sql-history/w/one', '{"broken"');
  expect(history.list()).toEqual([]);
});

test('an address has a short query itself and names a long one, which only this tab has', () => {
  const stored = storage();
  expect(sqlParams('SELECT 1', stored)).toEqual({ q: 'SELECT 1' });
  const long = `SELECT '${'ä'.repeat(2_000)}'`;
  const search = withSql(new URLSearchParams('q=old&brand=b'), long, stored);
  expect(search.get('brand')).toBe('b');
  expect(search.get('q')).toBeNull();
  expect(search.toString().length).toBeLessThan(60);
  expect(readSql(search, stored)).toEqual({ sql: long, isMissing: false });
  expect(readSql(search, storage())).toEqual({ sql: null, isMissing: true });
  expect(readSql(new URLSearchParams('q=SELECT+2'), stored)).toEqual({ sql: 'SELECT 2', isMissing: false });
});

test('numbers of results have six decimals at most, and years are not grouped', () => {
  const { exact } = createFormat();
  expect([2026, 1234567, 0.3333333333, 0.00001234, 0].map(exact)).toEqual([
    '2026',
    '1,234,567',
    '0.333333',
    '1.234E−5',
    '0',
  ]);
});
