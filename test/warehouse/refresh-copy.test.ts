import { closeSync, existsSync, openSync, statSync, writeSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase, type Query } from '../../src/warehouse/database.ts';
import type { HiddenRows } from '../../src/warehouse/file/copy-database.ts';
import { timedTables } from '../../src/warehouse/file/refresh-copy.ts';
import { publishAnalytics } from '../../src/warehouse/replica.ts';
import { literal, quoted } from '../../src/warehouse/schema.ts';
import { countOf, IS_ENDURANCE } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { openWorkspace, type TestWorkspace } from '../support/workspace.ts';
import type { World } from '../support/worlds.ts';

interface Published {
  readonly workspace: TestWorkspace;
  /** Path of the replica. */
  readonly path: string;
  /** Publishes and returns how many times the replica was refreshed since it was last written completely. */
  publish(hidden?: readonly HiddenRows[]): Promise<number>;
  /** Writes a complete copy, and returns a function that returns the tables of the replica that differ from it. */
  complete(hidden?: readonly HiddenRows[]): Promise<() => Promise<string[]>>;
}

// Several tables have a time, so that days, nested arrays and tables without a time are refreshed.
async function openPublished(world: World): Promise<Published> {
  const workspace = await openWorkspace({ world });
  const folder = await temporaryFolder();
  const path = join(folder, 'analytics.duckdb');
  const { database, catalogue } = workspace.warehouse();
  const options = { timed: timedTables(catalogue), bytesLeast: 0 };
  const publish = async (hidden: readonly HiddenRows[] = []): Promise<number> => {
    await publishAnalytics(database, path, { ...options, find: async () => hidden });
    return JSON.parse(await readFile(`${path}.contents.json`, 'utf8')).refreshes;
  };
  const complete = async (hidden: readonly HiddenRows[] = []) => {
    const other = join(await temporaryFolder(), 'complete.duckdb');
    await publishAnalytics(database, other, { find: async () => hidden });
    return () => compare(path, other);
  };
  return { workspace, path, publish, complete };
}

async function compare(path: string, other: string): Promise<string[]> {
  const database = await openDatabase(':memory:');
  try {
    return await database.exclusive(async ({ run, query }) => {
      await run(`ATTACH ${literal(path)} AS a (READ_ONLY)`);
      await run(`ATTACH ${literal(other)} AS b (READ_ONLY)`);
      const [a, b] = [await layoutOf(query, 'a'), await layoutOf(query, 'b')];
      expect(a.length).toBeGreaterThan(100);
      expect(a).toEqual(b);
      const tables = [...new Set(a.map(([schema, table]) => `${quoted(String(schema))}.${quoted(String(table))}`))];
      const contentOf = (database: string, name: string): string =>
        `(SELECT (count(*), sum(hash(t)), bit_xor(hash(t))) FROM ${database}.${name} t)`;
      const selects = tables.map(
        (name) => `SELECT ${literal(name)} WHERE ${contentOf('a', name)} IS DISTINCT FROM ${contentOf('b', name)}`,
      );
      return (await query(selects.join(' UNION ALL '))).map(([name]) => String(name));
    });
  } finally {
    await database.close();
  }
}

function layoutOf(query: Query, database: string): Promise<unknown[][]> {
  return query(
    `SELECT schema_name, table_name, column_name, data_type, c.comment FROM duckdb_columns() c JOIN duckdb_tables() USING (database_name, schema_name, table_name)
     WHERE database_name = '${database}' ORDER BY schema_name, table_name, column_index`,
  );
}

test('a refreshed replica has the rows of a complete copy after a night, and after rows were hidden, shown, or lost or changed their time', async () => {
  // In a smaller one, the changes of a night are too many for a refresh; those of some nights are too many in this one.
  const { publish, complete, workspace } = await openPublished(IS_ENDURANCE ? 'months' : 'small');
  await workspace.query('UPDATE responses SET created_at = NULL WHERE rowid = 7');
  expect(await publish()).toBe(0);
  let refreshes = 0;
  for (let night = 0; night < countOf(1, 5); night++) {
    workspace.sandbox.advance({
      days: 1,
      lateAnswers: 1,
      editedResponses: 1,
      deletedResponses: 1,
      regroupedPrompts: 1,
    });
    await workspace.sync({ only: ['prompts', 'responses', 'metrics_daily'] });
    expect(await publish()).toBe(++refreshes);
    expect(await (await complete())()).toEqual([]);
  }
  const [day] = await workspace.query('SELECT CAST(CAST(max(created_at) AS DATE) AS VARCHAR) AS day FROM responses');
  const where = `CAST(created_at AS DATE) = DATE '${String(day?.['day'])}'`;
  const hidden = ['responses', 'response_competitors', 'response_citations'].map((table) => ({ table, where }));
  expect(await publish(hidden)).toBe(++refreshes);
  expect(await (await complete(hidden))()).toEqual([]);
  const { database } = workspace.warehouse();
  await database.transaction(async ({ run }) => {
    await run(`UPDATE responses SET created_at = NULL, _row_hash = 'a' WHERE rowid = 3`);
    await run(`UPDATE responses SET created_at = created_at - INTERVAL 2 DAY, _row_hash = 'b' WHERE rowid = 5`);
    await run(`UPDATE responses SET created_at = TIMESTAMP '2026-03-10', _row_hash = 'c' WHERE rowid = 7`);
  });
  const differences = await complete();
  expect((await differences()).length).toBeGreaterThan(2);
  expect(await publish()).toBe(++refreshes);
  expect(await differences()).toEqual([]);
});

test('a changed layout, a lost record, another or a damaged file and many changed rows lead to a complete copy, as does a small replica', async () => {
  const { path, publish, complete, workspace } = await openPublished('tiny');
  const { database, catalogue } = workspace.warehouse();
  await database.transaction(async ({ run }) => {
    for (const name of ['note', 'other']) await run(`ALTER TABLE responses ADD COLUMN ${name} VARCHAR`);
  });
  await publish();
  // The order of columns is part of the layout: a restored warehouse may have another.
  await database.transaction(async ({ run }) => {
    for (const change of ['DROP COLUMN note', 'ADD COLUMN note VARCHAR']) await run(`ALTER TABLE responses ${change}`);
    await run(
      "UPDATE responses SET _row_hash = 'y', note = 'a note', other = 'another' WHERE created_at = (SELECT max(created_at) FROM responses)",
    );
  });
  expect(await publish()).toBe(0);
  expect(await (await complete())()).toEqual([]);
  expect(await publish()).toBe(1);
  await rm(`${path}.contents.json`);
  expect(await publish()).toBe(0);
  const other = await openDatabase(path);
  await other.exclusive(({ run }) => run('DELETE FROM responses'));
  await other.close();
  expect(await publish()).toBe(0);
  expect((await readdir(dirname(path))).toSorted()).toEqual(['analytics.duckdb', 'analytics.duckdb.contents.json']);
  // The start of the file, by which it is recognized, stays; every block after it is overwritten.
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(statSync(path).size - 12_288, 0xa5), 0, undefined, 12_288);
  closeSync(file);
  await database.transaction(({ run }) => run(`UPDATE responses SET _row_hash = 'a' WHERE rowid = 3`));
  expect(await publish()).toBe(0);
  expect(database.damage()).toBeNull();
  expect(await publish()).toBe(1);
  await database.transaction(async ({ run }) => {
    for (const table of ['responses', 'response_competitors', 'response_citations', 'metrics_daily'])
      await run(`UPDATE ${table} SET _row_hash = 'x'`);
  });
  expect(await publish()).toBe(0);
  expect(await (await complete())()).toEqual([]);
  await publishAnalytics(database, path, { timed: timedTables(catalogue) });
  expect(existsSync(`${path}.contents.json`)).toBe(false);
});
