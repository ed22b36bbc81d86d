import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import type { ResultRow } from '../../src/warehouse/database.ts';
import { sqlTypes } from '../../src/warehouse/schema.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';
import { expectHistorySound } from '../support/history.ts';

const catalogue = createCatalogue(declarations);

const syncTables = readFileSync(new URL('version-1.sql', import.meta.url), 'utf8');
const secondTables = readFileSync(new URL('version-2.sql', import.meta.url), 'utf8');
const resourceTables = catalogue.tables
  .map(({ name, columns }) => {
    return `CREATE TABLE "${name}" (${columns.map((column) => `"${column.name}" ${sqlTypes[column.kind]}`).join(', ')});`;
  })
  .join('\n');

// A file of the first version: its own tables, a run and a row of data.
const written = `
INSERT INTO sync.runs (run_id, pass_id, started_at, status, options, data_version)
  VALUES ('00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002', '2026-03-01', 'complete', '{}', 7);
INSERT INTO tags (id, name) VALUES ('00000000-0000-4000-8000-000000000003', 'x');`;

async function oldWarehouse(version = 1): Promise<string> {
  const path = join(await temporaryFolder(), 'warehouse.duckdb');
  await change(path, `${syncTables}${resourceTables}${written}${version === 2 ? secondTables : ''}`);
  return path;
}

async function change(path: string, sql: string): Promise<ResultRow[]> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const rows = (await connection.runAndReadAll(sql)).getRowObjects();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

async function schemaOf(path: string): Promise<ResultRow[]> {
  return change(
    path,
    `SELECT t.table_name, t.comment, c.column_name, c.data_type, c.is_nullable, c.comment AS about
     FROM duckdb_tables() t JOIN duckdb_columns() c USING (table_oid) WHERE t.schema_name = 'sync' ORDER BY ALL`,
  );
}

describe.each([1, 2])('a warehouse of version %i', (version) => {
  test('is migrated once', async () => {
    const path = await oldWarehouse(version);
    for (let opened = 0; opened < 2; opened++) await (await openWarehouse(path, catalogue, {})).close();
    await change(path, "INSERT INTO sync.shapes VALUES ('r', 'n', 'v')");
    await (await openWarehouse(path, catalogue, {})).close();
    expect(await change(path, 'SELECT count(*) AS n FROM sync.shapes')).toEqual([{ n: 1n }]);
  });

  test('fills its new histories from the existing rows', async () => {
    const path = await oldWarehouse(version);
    const brand = "'00000000-0000-4000-8000-00000000000a'";
    await change(
      path,
      `INSERT INTO prompts (brand_id, id, text, _synced_at, _deleted_at) SELECT ${brand}, CAST(concat('00000000-0000-4000-9000-00000000000', n) AS UUID),
         concat('p', n), TIMESTAMP '2026-03-01', if(n = 2, TIMESTAMP '2026-03-05', NULL) FROM range(1, 4) r(n);
       INSERT INTO prompt_tags (brand_id, prompt_id, ordinal, tag_id, name)
         SELECT brand_id, id, n, id, concat('t', n) FROM prompts, range(0, 2) r(n) WHERE text <> 'p3'`,
    );
    const warehouse = await openWarehouse(path, catalogue, {});
    const query = (sql: string) => warehouse.database.exclusive((session) => session.all(sql));
    await query('DELETE FROM tags_history; DELETE FROM tags');
    await expectHistorySound(catalogue, query);
    await warehouse.close();
    const versions = await change(
      path,
      `SELECT text, change, strftime(valid_from, '%d') AS since, strftime(valid_to, '%d') AS until,
         CAST(_children AS VARCHAR) LIKE '%"t0"%"t1"%' AS tagged FROM prompts_history ORDER BY text, valid_from`,
    );
    expect(versions).toEqual([
      { text: 'p1', change: 'inserted', since: '01', until: null, tagged: true },
      { text: 'p2', change: 'inserted', since: '01', until: '05', tagged: true },
      { text: 'p2', change: 'deleted', since: '05', until: '05', tagged: true },
      { text: 'p3', change: 'inserted', since: '01', until: null, tagged: false },
    ]);
  });

  test('does not change if the migration fails', async () => {
    const path = await oldWarehouse(version);
    await change(path, 'ALTER TABLE tags ALTER name TYPE INTEGER USING 1');
    const before = await schemaOf(path);
    await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({ code: 'warehouse_invalid' });
    expect(await schemaOf(path)).toEqual(before);
    expect(await change(path, 'SELECT value FROM sync.meta')).toEqual([{ value: String(version) }]);
  });
});

test.for(['9', '2.5', 'x', '', '0'])('a warehouse of version %j is rejected', async (version) => {
  const path = await oldWarehouse();
  await change(path, `UPDATE sync.meta SET value = '${version}'`);
  await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({
    code: version === '9' ? 'warehouse_newer' : 'warehouse_invalid',
    message: expect.stringContaining(path),
  });
});
