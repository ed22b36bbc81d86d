import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import { openReader, type QueryResult } from '../../src/warehouse/reader.ts';
import { openCli } from '../cli/helpers.ts';

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
  const workspace = await openCli({ prompts: 2, days: 3 });
  expect(await workspace.run('sync')).toMatchObject({ code: 0 });
  const warehouse = join(workspace.data, 'warehouse.duckdb');
  const copy = join(workspace.data, 'analytics.duckdb');
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

  const comments = await ask(copy, COMMENTS);
  expect(comments).toEqual(await ask(warehouse, COMMENTS));
  for (const { name, about, columns } of [...catalogue.tables, ...catalogue.histories]) {
    expect(comments).toContainEqual(['main', name, '', about]);
    for (const column of columns) expect(comments).toContainEqual(['main', name, column.name, column.about]);
  }
});

test('the replica can be opened at any moment while syncs publish new ones', async () => {
  // Two days, because the current day may not have a response yet.
  const workspace = await openCli({ prompts: 1, days: 2 });
  expect(await workspace.run('sync')).toMatchObject({ code: 0 });
  const copy = join(workspace.data, 'analytics.duckdb');
  let syncing = true;
  const seen: number[] = [];
  const look = async (): Promise<void> => {
    while (syncing) {
      const [row] = await ask(copy, 'SELECT (SELECT count(*) FROM sync.runs), (SELECT count(*) FROM responses)');
      const [runs, answers] = row as readonly [number, number];
      expect(answers).toBeGreaterThan(0);
      seen.push(runs);
    }
  };
  // One reader keeps its file open during all syncs, as a notebook would.
  const notebook = await openReader(copy);
  const looking = look();
  try {
    for (let times = 0; times < 3; times++) expect(await workspace.run('sync')).toMatchObject({ code: 0 });
  } finally {
    syncing = false;
    await looking;
  }
  expect((await notebook.query('SELECT count(*) FROM sync.runs')).rows).toEqual([[1]]);
  notebook.close();
  expect(seen.length).toBeGreaterThan(20);
  expect([...seen].sort((a, b) => a - b)).toEqual(seen);
  expect(await ask(copy, 'SELECT count(*) FROM sync.runs')).toEqual([[4]]);
  expect((await readdir(workspace.data)).sort()).toEqual(['analytics.duckdb', 'raw', 'warehouse.duckdb']);
});
