import { existsSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import type { ResultRow } from '../../src/warehouse/database.ts';
import { findFlaws } from '../../src/warehouse/file/integrity.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';
import { expectHistorySound } from '../support/history.ts';

// Warehouses written by the code of the version: `sandbox --brands 1 --prompts 3 --days 12`, a sync, two more days
// with deletions, edits and late responses, a sync. Version 4 is the last one before its tables with rows change.
const VERSIONS = [1, 4];

async function unpack(version: number): Promise<string> {
  const path = join(await temporaryFolder(), 'warehouse.duckdb');
  const packed = await readFile(new URL(`fixtures/version-${version}.duckdb.gz`, import.meta.url));
  await writeFile(path, gunzipSync(packed));
  return path;
}

/** Runs a statement without sightline. */
async function query(path: string, sql: string): Promise<ResultRow[]> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const rows = (await connection.runAndReadAll(sql)).getRowObjects();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

/** SQL that counts and hashes the rows of every table in the columns that it has now. */
async function contentSql(path: string): Promise<string> {
  const tables = await query(
    path,
    `SELECT schema_name || '.' || table_name AS "table", string_agg('"' || column_name || '"', ', ' ORDER BY column_name) AS columns
     FROM duckdb_columns() JOIN duckdb_tables() USING (schema_name, table_name)
     WHERE NOT duckdb_tables.internal AND table_name <> 'meta' GROUP BY ALL ORDER BY 1`,
  );
  expect(tables.length).toBeGreaterThan(25);
  return tables
    .map(({ table, columns }) => `SELECT '${table}' AS t, count(*) AS n, bit_xor(hash(${columns})) AS h FROM ${table}`)
    .join(' UNION ALL ');
}

function schemaOf(path: string): Promise<ResultRow[]> {
  return query(
    path,
    `SELECT c.schema_name, c.table_name, t.comment, column_name, data_type, is_nullable, c.comment AS about
     FROM duckdb_columns() c JOIN duckdb_tables() t USING (schema_name, table_name) WHERE NOT c.internal ORDER BY ALL`,
  );
}

describe.each(VERSIONS)('a warehouse of version %i', (version) => {
  test('gets the schema of a new warehouse once, and keeps every row', async () => {
    const path = await unpack(version);
    const content = await contentSql(path);
    const before = await query(path, content);
    const { database, close } = await openWarehouse(path, catalogue, {});
    await expectHistorySound(catalogue, (sql) => database.exclusive((session) => session.all(sql)));
    expect(await database.exclusive((session) => findFlaws(session.query, catalogue))).toEqual([]);
    expect(existsSync(`${path}.wal`) ? statSync(`${path}.wal`).size : 0).toBe(0);
    await close();

    expect(await query(path, content)).toEqual(before);
    const fresh = join(await temporaryFolder(), 'warehouse.duckdb');
    await (await openWarehouse(fresh, catalogue, {})).close();
    expect(await schemaOf(path)).toEqual(await schemaOf(fresh));
    const shapes = async () => (await query(path, 'SELECT count(*) AS n FROM sync.shapes'))[0]?.['n'] as bigint;
    const stored = await shapes();
    await query(path, "INSERT INTO sync.shapes VALUES ('r', 'n', 'v')");
    await (await openWarehouse(path, catalogue, {})).close();
    expect(await shapes()).toBe(stored + 1n);
  });
});

test('new histories are filled from the existing rows, deleted ones included', async () => {
  const path = await unpack(1);
  const brand = "'00000000-0000-4000-8000-00000000000a'";
  await query(
    path,
    `INSERT INTO prompts (brand_id, id, text, _synced_at, _deleted_at) SELECT ${brand},
       CAST(concat('00000000-0000-4000-9000-00000000000', n) AS UUID), concat('p', n), TIMESTAMP '2026-03-01',
       if(n = 2, TIMESTAMP '2026-03-05', NULL) FROM range(1, 4) r(n);
     INSERT INTO prompt_tags (brand_id, prompt_id, ordinal, tag_id, name)
       SELECT brand_id, id, n, id, concat('t', n) FROM prompts, range(0, 2) r(n) WHERE text IN ('p1', 'p2')`,
  );
  await (await openWarehouse(path, catalogue, {})).close();
  const versions = await query(
    path,
    `SELECT text, change, strftime(valid_from, '%d') AS since, strftime(valid_to, '%d') AS until,
       CAST(_children AS VARCHAR) LIKE '%"t0"%"t1"%' AS tagged FROM prompts_history WHERE brand_id = ${brand}
     ORDER BY text, valid_from`,
  );
  expect(versions).toEqual([
    { text: 'p1', change: 'inserted', since: '01', until: null, tagged: true },
    { text: 'p2', change: 'inserted', since: '01', until: '05', tagged: true },
    { text: 'p2', change: 'deleted', since: '05', until: '05', tagged: true },
    { text: 'p3', change: 'inserted', since: '01', until: null, tagged: false },
  ]);
});

test('a warehouse does not change if its migration fails', async () => {
  const path = await unpack(1);
  await query(path, 'ALTER TABLE tags ALTER name TYPE INTEGER USING 1');
  const before = await schemaOf(path);
  await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({ code: 'warehouse_invalid' });
  expect(await schemaOf(path)).toEqual(before);
  expect(await query(path, "SELECT value FROM sync.meta WHERE name = 'schema_version'")).toEqual([{ value: '1' }]);
});
