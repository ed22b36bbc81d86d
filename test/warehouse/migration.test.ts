import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import type { ResultRow } from '../../src/warehouse/database.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';

async function newWarehouse(): Promise<string> {
  const path = join(await temporaryFolder(), 'warehouse.duckdb');
  await (await openWarehouse(path, catalogue, {})).close();
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

function schemaOf(path: string): Promise<ResultRow[]> {
  return query(
    path,
    `SELECT c.schema_name, c.table_name, t.comment, column_name, data_type, is_nullable, c.comment AS about
     FROM duckdb_columns() c JOIN duckdb_tables() t USING (schema_name, table_name) WHERE NOT c.internal ORDER BY ALL`,
  );
}

test('new histories are filled from the existing rows, deleted ones included', async () => {
  const path = await newWarehouse();
  const brand = "'00000000-0000-4000-8000-00000000000a'";
  await query(
    path,
    `DROP TABLE prompts_history;
     INSERT INTO prompts (brand_id, id, text, _synced_at, _deleted_at) SELECT ${brand},
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

test('new tables, columns and comments are added once, and rows are kept', async () => {
  const path = await newWarehouse();
  const before = await schemaOf(path);
  await query(
    path,
    `DROP TABLE alerts; ALTER TABLE tags DROP COLUMN _extra; COMMENT ON COLUMN tags.name IS 'x'; COMMENT ON TABLE sync.runs IS 'x';
     INSERT INTO sync.shapes VALUES ('r', 'n', 'v')`,
  );
  for (let opened = 0; opened < 2; opened++) {
    await (await openWarehouse(path, catalogue, {})).close();
    expect(await schemaOf(path)).toEqual(before);
    expect(await query(path, 'SELECT * FROM sync.shapes')).toEqual([{ resource: 'r', name: 'n', value: 'v' }]);
  }
});

test('a warehouse does not change if its migration fails', async () => {
  const path = await newWarehouse();
  await query(path, 'DROP TABLE alerts; ALTER TABLE tags ALTER name TYPE INTEGER USING 1');
  const before = await schemaOf(path);
  await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({ code: 'warehouse_invalid' });
  expect(await schemaOf(path)).toEqual(before);
});
