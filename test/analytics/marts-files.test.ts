import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { defaultConventions } from '../../src/analytics/calibration/conventions.ts';
import { MART_SCHEMA, marts, parseMart } from '../../src/analytics/marts/marts.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { openReader, type Reader } from '../../src/warehouse/reader.ts';
import { publishAnalytics } from '../../src/warehouse/replica.ts';
import { ensureViews } from '../../src/warehouse/views.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';

async function openEmpty(): Promise<Warehouse> {
  const warehouse = await openWarehouse(
    join(await temporaryFolder(), 'warehouse.duckdb'),
    createCatalogue(declarations),
    {},
  );
  onTestFinished(() => warehouse.close());
  return warehouse;
}

async function readCopy({ database }: Warehouse): Promise<Reader> {
  const path = join(await temporaryFolder(), 'analytics.duckdb');
  await publishAnalytics(database, path);
  const reader = await openReader(path);
  onTestFinished(() => reader.close());
  return reader;
}

test('every mart and column in the replica has its comment and its declared type', async () => {
  const warehouse = await openEmpty();
  expect(await ensureViews(warehouse.database, MART_SCHEMA, marts())).toBe(true);
  const reader = await readCopy(warehouse);
  const views = await reader.query(
    `SELECT view_name, comment FROM duckdb_views() WHERE schema_name = '${MART_SCHEMA}'`,
  );
  expect(new Map(views.rows as [string, string][])).toEqual(new Map(marts().map(({ name, about }) => [name, about])));
  const columns = await reader.query(
    `SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE schema_name = '${MART_SCHEMA}'
     ORDER BY table_name, column_index`,
  );
  const named = marts().toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const types: Readonly<Record<string, string>> = { TIMESTAMPTZ: 'TIMESTAMP WITH TIME ZONE' };
  expect(columns.rows).toEqual(
    named.flatMap((mart) => mart.columns.map((c) => [mart.name, c.name, types[c.type] ?? c.type, c.about])),
  );
  expect(columns.rows.filter(([, , type]) => /HUGEINT|\[\]|STRUCT|MAP|DECIMAL|TIMESTAMP$/.test(String(type)))).toEqual(
    [],
  );
});

test('the marts of a warehouse that was never synced are empty, except sentiment_label', async () => {
  const warehouse = await openEmpty();
  await ensureViews(warehouse.database, MART_SCHEMA, marts());
  const reader = await readCopy(warehouse);
  for (const { name } of marts()) {
    const { rows } = await reader.query(`SELECT * FROM ${MART_SCHEMA}.${name}`);
    if (name !== 'sentiment_label') expect(rows, name).toEqual([]);
  }
  const labels = await reader.query(`SELECT label, worth, lean FROM ${MART_SCHEMA}.sentiment_label`);
  expect(Object.fromEntries(labels.rows.map(([label, worth]) => [label, worth]))).toEqual(defaultConventions.labels);
  expect(labels.rows.map(([label, , lean]) => label === lean)).toEqual([true, true, true]);
});

test('every mart can be read when the replica is attached under another name', async () => {
  const warehouse = await openEmpty();
  await ensureViews(warehouse.database, MART_SCHEMA, marts());
  const path = join(await temporaryFolder(), 'analytics.duckdb');
  await publishAnalytics(warehouse.database, path);
  const other = await openDatabase(join(await temporaryFolder(), 'other.duckdb'));
  onTestFinished(() => other.close());
  await other.exclusive((session) => session.run(`ATTACH '${path}' AS renamed (READ_ONLY)`));
  for (const { name } of marts()) {
    const rows = await other.exclusive((session) =>
      session.query(`SELECT count(*) FROM renamed.${MART_SCHEMA}.${name}`),
    );
    expect(rows.length, name).toBe(1);
  }
});

test('absurd dates do not extend the calendar', async () => {
  const warehouse = await openEmpty();
  await ensureViews(warehouse.database, MART_SCHEMA, marts());
  const moments = ['0001-01-01', '1969-12-31 23:59:59', '2023-05-06', '2026-11-20 12:00:00', '9999-12-31 23:59:59'];
  const values = moments.map((moment) => `(uuid(), TIMESTAMP '${moment}')`).join(', ');
  await warehouse.database.exclusive((s) => s.run(`INSERT INTO alerts (id, detected_at) VALUES ${values}`));
  const reader = await readCopy(warehouse);
  const { rows } = await reader.query(`SELECT min(day), max(day), count(*) FROM ${MART_SCHEMA}.dim_date`);
  expect(rows).toEqual([['2023-01-01', '2026-12-31', 4 * 365 + 1]]);
});

test('views are recreated if they differ from the existing ones, and otherwise kept', async () => {
  const { database } = await openEmpty();
  const view = { name: 'one', about: "It's one.", columns: [{ name: 'a', about: 'An a.' }], sql: 'SELECT 1 AS a' };
  const other = { ...view, name: 'two', sql: 'SELECT a FROM mart.one' };
  const names = async (): Promise<unknown[][]> =>
    database.exclusive((session) =>
      session.query('SELECT view_name FROM duckdb_views() WHERE schema_name = $1 ORDER BY 1', [MART_SCHEMA]),
    );
  expect(await ensureViews(database, MART_SCHEMA, [view, other])).toBe(true);
  expect(await ensureViews(database, MART_SCHEMA, [view, other])).toBe(false);
  expect(await names()).toEqual([['one'], ['two']]);
  expect(await ensureViews(database, MART_SCHEMA, [{ ...view, about: 'Another one.' }])).toBe(true);
  expect(await names()).toEqual([['one']]);

  // If a view cannot be created, the existing ones stay.
  await expect(
    ensureViews(database, MART_SCHEMA, [view, { ...other, sql: 'SELECT b FROM mart.one' }]),
  ).rejects.toThrow();
  expect(await names()).toEqual([['one']]);
  expect(await ensureViews(database, MART_SCHEMA, [{ ...view, about: 'Another one.' }])).toBe(false);
});

test('every mart comes after the marts it reads from', () => {
  const names = marts().map(({ name }) => name);
  for (const [index, { name, sql }] of marts().entries()) {
    const reads = [...sql.matchAll(/\bmart\.(\w+)/g)].map((match) => match[1] as string);
    expect(
      reads.filter((read) => !names.slice(0, index).includes(read)),
      name,
    ).toEqual([]);
  }
});

test('every mart except the facts shows the names of brands, competitors and prompts beside their ids', () => {
  const names: Readonly<Record<string, readonly string[]>> = {
    brand_id: ['brand_name'],
    competitor_id: ['competitor_name', 'name'],
    prompt_id: ['prompt_text', 'text'],
    topic_id: ['topic_name'],
  };
  let found = 0;
  for (const mart of marts().filter(({ name }) => !name.startsWith('fct_'))) {
    const columns = mart.columns.map(({ name }) => name);
    for (const [id, allowed] of Object.entries(names)) {
      if (!columns.includes(id)) continue;
      const shown = mart.name === `dim_${id.slice(0, -3)}` ? ['name', 'text'] : allowed;
      expect(columns, `${mart.name} with ${id}`).toEqual(expect.arrayContaining([expect.toBeOneOf([...shown])]));
      found += 1;
    }
  }
  expect(found).toBeGreaterThan(35);
});

test('parseMart parses the header and rejects invalid ones with the file name', () => {
  const header =
    '-- One row per\n-- thing.\n-- formula: a = b\n--   + c.\n-- source: A (1927), B.\n-- column a BIGINT: An a.';
  expect(parseMart('x', `${header}\nSELECT 1 AS a\n`)).toEqual({
    name: 'x',
    about: 'One row per thing. Formula: a = b + c. Source: A (1927), B.',
    columns: [{ name: 'a', type: 'BIGINT', about: 'An a.' }],
    key: ['a'],
    time: undefined,
    sql: 'SELECT 1 AS a',
  });
  const fact = `-- Facts.\n-- key: a, b\n-- time: b\n-- column a BIGINT: An a.\n-- column b DATE: A b.\n-- column c BIGINT: A c.`;
  expect(parseMart('x', `${fact}\nSELECT 1 AS a`)).toMatchObject({ about: 'Facts.', key: ['a', 'b'], time: 'b' });
  for (const text of [
    'SELECT 1',
    '-- Only this.\nSELECT 1 AS a',
    '-- column a BIGINT: An a.\nSELECT 1 AS a',
    `${header}\n`,
    `${header}\n-- column b: No type.\nSELECT 1 AS a`,
    `${header}\n--no space\nSELECT 1 AS a`,
    `${header}\n-- key: a, b\nSELECT 1 AS a`,
    `${header}\n-- time: b\nSELECT 1 AS a`,
    `${header}\nSELECT wilson_lower(a) AS a`,
  ]) {
    expect(() => parseMart('x', text), text).toThrow(/^x\.sql/);
  }
});
