import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openReader, type QueryResult } from '../../../src/warehouse/reader.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { copyWorld } from '../../support/worlds.ts';

async function ask(path: string, sql: string): Promise<QueryResult['rows']> {
  const reader = await openReader(path);
  try {
    return (await reader.query(sql)).rows;
  } finally {
    reader.close();
  }
}

const ALL_TABLES = `SELECT schema_name, table_name, column_count FROM duckdb_tables() ORDER BY ALL`;
const ALL_TYPES = `SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY ALL`;
const COMMENTS = `SELECT schema_name, table_name, '' AS name, comment FROM duckdb_tables()
  UNION ALL SELECT schema_name, table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal ORDER BY ALL`;

test('the replica equals the warehouse table by table, with times as instants, and has comments on tables and columns', async () => {
  const folder = await temporaryFolder();
  await copyWorld('small', folder);
  const [warehouse, copy] = ['warehouse', 'analytics'].map((name) => join(folder, `data/default/${name}.duckdb`)) as [
    string,
    string,
  ];
  const tables = await ask(warehouse, ALL_TABLES);
  const own = tables.filter(([schema]) => schema === 'main');
  expect(own.length).toBe(catalogue.tables.length + catalogue.histories.length);
  expect(await ask(copy, ALL_TABLES)).toEqual(tables);
  const prints = tables.map(([schema, name]) => {
    const table = `"${schema}"."${name}"`;
    return `SELECT '${schema}.${name}' AS name, count(*) AS rows, CAST(bit_xor(hash(t)) AS VARCHAR) AS hash FROM ${table} t`;
  });
  const contents = await ask(warehouse, prints.join(' UNION ALL '));
  // The responses kept for calibration are the only rows that a replica leaves out.
  const kept = contents.filter(([name]) => name === 'sync.answers');
  expect(kept).toEqual([['sync.answers', expect.any(Number), expect.any(String)]]);
  const copied = contents.map((row) => (row[0] === 'sync.answers' ? ['sync.answers', 0, null] : row));
  expect(await ask(copy, prints.join(' UNION ALL '))).toEqual(copied);
  expect(contents.filter(([, rows]) => Number(rows) > 0).length).toBeGreaterThan(20);

  const types = (await ask(warehouse, ALL_TYPES)).map(([schema, table, column, type]) => {
    return [schema, table, column, type === 'TIMESTAMP' ? 'TIMESTAMP WITH TIME ZONE' : type];
  });
  expect(types.filter(([, , , type]) => type === 'TIMESTAMP WITH TIME ZONE').length).toBeGreaterThan(100);
  expect(await ask(copy, ALL_TYPES)).toEqual(types);

  expect(await ask(copy, COMMENTS)).toEqual(await ask(warehouse, COMMENTS));
});
