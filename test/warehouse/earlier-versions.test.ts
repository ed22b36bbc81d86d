import { existsSync, readdirSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import type { ResultRow } from '../../src/warehouse/database.ts';
import { findFlaws } from '../../src/warehouse/file/integrity.ts';
import { SCHEMA_VERSION } from '../../src/warehouse/schema.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';
import { expectHistorySound } from '../support/history.ts';

// Warehouses written by the code of each version: `sandbox --brands 1 --prompts 3 --days 12`, a sync, two more days
// with deletions, edits and late responses, a sync.
const fixtures = new URL('fixtures/', import.meta.url);
const catalogue = createCatalogue(declarations);
const versions = readdirSync(fixtures).map((name) => Number(/^version-(\d+)\.duckdb\.gz$/.exec(name)?.[1]));

async function unpack(version: number): Promise<string> {
  const path = join(await temporaryFolder(), 'warehouse.duckdb');
  await writeFile(path, gunzipSync(await readFile(new URL(`version-${version}.duckdb.gz`, fixtures))));
  return path;
}

async function withFile<T>(
  path: string,
  work: (query: (sql: string) => Promise<ResultRow[]>) => Promise<T>,
): Promise<T> {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    return await work(async (sql) => (await connection.runAndReadAll(sql)).getRowObjects());
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Tables with their columns, by schema. */
async function tablesOf(path: string): Promise<Map<string, string[]>> {
  const rows = await withFile(path, (query) =>
    query(`SELECT schema_name || '.' || table_name AS "table", list(column_name ORDER BY column_name) AS columns
           FROM duckdb_columns() JOIN duckdb_tables() USING (schema_name, table_name) WHERE NOT duckdb_tables.internal
           GROUP BY ALL`),
  );
  return new Map(rows.map((row) => [String(row['table']), (row['columns'] as { items: string[] }).items]));
}

/** For each table, the number of rows and an order-independent hash of these columns. */
async function contentOf(path: string, tables: ReadonlyMap<string, readonly string[]>): Promise<Map<string, string>> {
  return withFile(path, async (query) => {
    const content = new Map<string, string>();
    for (const [table, columns] of tables) {
      const row = columns.map((name) => `"${name}"`).join(', ');
      const [found] = await query(`SELECT count(*) AS rows, bit_xor(hash(${row})) AS hash FROM ${table}`);
      content.set(table, `${found?.['rows']} ${found?.['hash']}`);
    }
    return content;
  });
}

async function schemaOf(path: string): Promise<ResultRow[]> {
  return withFile(path, (query) =>
    query(`SELECT c.schema_name, c.table_name, t.comment, column_name, data_type, is_nullable, c.comment AS about
           FROM duckdb_columns() c JOIN duckdb_tables() t USING (schema_name, table_name) WHERE NOT c.internal ORDER BY ALL`),
  );
}

it('has a fixture of every schema version', () => {
  expect(versions.toSorted()).toEqual(Array.from({ length: SCHEMA_VERSION }, (_, index) => index + 1));
});

describe.each(versions)('a warehouse written by version %i', (version) => {
  it('gets the schema of a new warehouse and keeps every row', async () => {
    const path = await unpack(version);
    const before = await tablesOf(path);
    before.delete('sync.meta');
    const rows = await contentOf(path, before);
    expect(rows.size).toBeGreaterThan(25);

    const warehouse = await openWarehouse(path, catalogue, {});
    const query = (sql: string) => warehouse.database.exclusive((session) => session.all(sql));
    await expectHistorySound(catalogue, query);
    expect(await findFlaws((sql) => warehouse.database.exclusive((session) => session.query(sql)), catalogue)).toEqual(
      [],
    );
    expect(existsSync(`${path}.wal`) ? statSync(`${path}.wal`).size : 0).toBe(0);
    await warehouse.close();

    expect(await contentOf(path, before)).toEqual(rows);
    const fresh = join(await temporaryFolder(), 'warehouse.duckdb');
    await (await openWarehouse(fresh, catalogue, {})).close();
    expect(await schemaOf(path)).toEqual(await schemaOf(fresh));
  });
});
