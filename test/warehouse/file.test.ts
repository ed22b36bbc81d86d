import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Database, ResultRow, Session } from '../../src/warehouse/database.ts';
import { createShapeWriter, readShapes } from '../../src/warehouse/ledger/shapes.ts';
import { SCHEMA_VERSION, sqlTypes } from '../../src/warehouse/schema.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { createEmptyWarehouse } from '../support/empty-warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';
import { testWith } from '../support/needs.ts';
import { ROOT } from '../support/root.ts';

const open = (path: string) => openWarehouse(path, catalogue, {});

async function newPath(): Promise<string> {
  return join(await temporaryFolder(), 'warehouse.duckdb');
}

/** Writes a new warehouse without rows. */
async function newWarehouse(): Promise<string> {
  const path = await newPath();
  await createEmptyWarehouse(path);
  return path;
}

/** Runs work on an open warehouse without rows. */
async function openEmpty(): Promise<Database> {
  const warehouse = await open(await newWarehouse());
  onTestFinished(() => warehouse.close());
  return warehouse.database;
}

/** Changes or reads a warehouse without sightline; returns the rows of the last statement. */
async function change(path: string, sql: string): Promise<ResultRow[]> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const rows = (await connection.runAndReadAll(sql)).getRowObjects();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

function schemaOf(path: string): Promise<ResultRow[]> {
  return change(
    path,
    `SELECT c.schema_name, c.table_name, t.comment, column_name, data_type, is_nullable, c.comment AS about
     FROM duckdb_columns() c JOIN duckdb_tables() t USING (schema_name, table_name) WHERE NOT c.internal ORDER BY ALL`,
  );
}

test('a new warehouse has every table and column of the catalogue, with types and comments', async () => {
  const database = await openEmpty();
  const read = (sql: string) => database.exclusive((session) => session.all(sql));
  const rows = await read(`SELECT table_name, column_name, data_type, comment FROM duckdb_columns()
    WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index`);
  const tables = await read("SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = 'main'");
  const every = [...catalogue.tables, ...catalogue.histories];
  const byTable = every.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  expect(rows).toEqual(
    byTable.flatMap(({ name, columns }) =>
      columns.map((column) => ({
        table_name: name,
        column_name: column.name,
        data_type: sqlTypes[column.kind],
        comment: column.about,
      })),
    ),
  );
  expect(new Map(tables.map((row) => [row['table_name'], row['comment']]))).toEqual(
    new Map(every.map(({ name, about }) => [name, about])),
  );
});

describe('an older warehouse', () => {
  test('gets missing columns, tables and comments once, and keeps its rows', async () => {
    const path = await newWarehouse();
    const before = await schemaOf(path);
    await change(
      path,
      `INSERT INTO tags (id, name) VALUES (uuid(), 'x'); ALTER TABLE tags DROP COLUMN _extra; DROP TABLE alerts;
       COMMENT ON COLUMN tags.name IS 'x'; COMMENT ON TABLE sync.runs IS 'x'; INSERT INTO sync.shapes VALUES ('r', 'n', 'v')`,
    );
    for (let opened = 0; opened < 2; opened++) {
      await (await open(path)).close();
      expect(await schemaOf(path)).toEqual(before);
      expect(await change(path, 'SELECT name, _extra FROM tags')).toEqual([{ name: 'x', _extra: null }]);
      expect(await change(path, 'SELECT * FROM sync.shapes')).toEqual([{ resource: 'r', name: 'n', value: 'v' }]);
    }
  });

  test('with a column of another type is rejected by name and not changed', async () => {
    const path = await newWarehouse();
    await change(path, 'ALTER TABLE tags ALTER name TYPE INTEGER; DROP TABLE alerts');
    const before = await schemaOf(path);
    await expect(open(path)).rejects.toMatchObject({
      code: 'warehouse_invalid',
      message: expect.stringMatching(/tags\.name .* is INTEGER, not VARCHAR/),
    });
    expect(await schemaOf(path)).toEqual(before);
    await change(path, 'ALTER TABLE tags ALTER name TYPE VARCHAR');
    await (await open(path)).close();
  });

  test('without the history of a table is rejected by name', async () => {
    const path = await newWarehouse();
    await change(path, 'DROP TABLE prompts_history');
    await expect(open(path)).rejects.toMatchObject({
      code: 'warehouse_invalid',
      message: expect.stringMatching(/has the table prompts without prompts_history$/),
    });
  });
});

describe('a warehouse is rejected if', () => {
  test('its version is another one or not a number', async () => {
    const path = await newWarehouse();
    const codes = {
      [SCHEMA_VERSION + 1]: 'warehouse_newer',
      [SCHEMA_VERSION - 1]: 'warehouse_invalid',
      '2.5': 'warehouse_invalid',
      x: 'warehouse_invalid',
      '': 'warehouse_invalid',
      0: 'warehouse_invalid',
    };
    for (const [version, code] of Object.entries(codes)) {
      await change(path, `UPDATE sync.meta SET value = '${version}'`);
      await expect(open(path), version).rejects.toMatchObject({ code, message: expect.stringContaining(path) });
    }
    await change(path, `UPDATE sync.meta SET value = '${SCHEMA_VERSION}'`);
    await (await open(path)).close();
  });

  test.for<[string, (whole: Buffer) => Buffer]>([
    ['is text', () => Buffer.from('this is not a database, and longer than a header of one would be: '.repeat(100))],
    ['is half a page', () => Buffer.from('DUCK')],
    ['is truncated', (whole) => whole.subarray(0, Math.floor(whole.length / 3))],
  ])('the file %s, and the file is not changed', async ([, contentOf]) => {
    const path = await newPath();
    await createEmptyWarehouse(path);
    const content = contentOf(await readFile(path));
    await writeFile(path, content);
    await expect(open(path)).rejects.toMatchObject({
      code: 'warehouse_invalid',
      message: expect.stringContaining(path),
    });
    expect((await readFile(path)).equals(content)).toBe(true);
  });

  test('the file is a folder', async () => {
    const path = await newPath();
    await mkdir(path);
    await expect(open(path)).rejects.toMatchObject({ message: expect.stringContaining(path) });
  });

  testWith(process.getuid?.() === 0 ? 'root may write to every file' : null)(
    'this user may not write to it',
    async () => {
      const path = await newWarehouse();
      await chmod(path, 0o444);
      await expect(open(path)).rejects.toMatchObject({ code: 'folder_unwritable' });
    },
  );

  test('another process owns it, until that process ends', async () => {
    const path = await newWarehouse();
    const script = `const { DuckDBInstance } = await import('@duckdb/node-api');
      const instance = await DuckDBInstance.create(${JSON.stringify(path)});
      console.log('open');
      setInterval(() => instance, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { cwd: ROOT });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    await expect(open(path)).rejects.toMatchObject({
      code: 'warehouse_locked',
      exit: 4,
      message: expect.stringContaining(String(child.pid)),
    });
    child.kill('SIGKILL');
    await once(child, 'exit');
    await (await open(path)).close();
  });
});

const names = (database: Database): Promise<unknown[]> =>
  database.exclusive(async (session) =>
    (await session.all('SELECT name FROM tags ORDER BY rowid')).map(({ name }) => name),
  );
const insert = (name: string): string => `INSERT INTO tags (id, name) VALUES (uuid(), '${name}')`;

test('a failed transaction is rolled back, and the next one succeeds', async () => {
  const database = await openEmpty();
  const failed = database.transaction(async (session) => {
    await session.run(insert('x'));
    throw new Error('stop');
  });
  await expect(failed).rejects.toThrow('stop');
  const broken = database.transaction((session) => session.run('SELECT * FROM nothing'));
  await expect(broken).rejects.toMatchObject({
    code: 'internal',
    cause: { message: expect.stringContaining('nothing') },
  });
  await database.transaction((session) => session.run(insert('y')));
  expect(await names(database)).toEqual(['y']);
  await database.close();
  await expect(database.exclusive((session) => session.all('SELECT 1'))).rejects.toThrow('closed');
});

test('sessions that read together see the same state, and writes wait for them', async () => {
  const database = await openEmpty();
  await database.transaction((session) => session.run(insert('a')));
  const order: string[] = [];
  const reading = database.readTogether(3, async (sessions) => {
    const queued = database.transaction((session) => session.run(insert('b'))).then(() => order.push('written'));
    queued.catch(() => undefined);
    const found = await Promise.all(
      sessions.map(async (session, index) => {
        // Each session has its own temporary tables.
        await session.run(`CREATE TEMP TABLE own AS SELECT ${index} AS number, name FROM tags`);
        return session.all('SELECT * FROM own');
      }),
    );
    order.push('read');
    return found;
  });
  expect(await reading).toEqual([0, 1, 2].map((number) => [{ number, name: 'a' }]));
  expect(await names(database)).toEqual(['a', 'b']);
  expect(order).toEqual(['read', 'written']);
  const failed = database.readTogether(2, async ([, other]) => {
    await other?.run(insert('c'));
    throw new Error('stop');
  });
  await expect(failed).rejects.toThrow('stop');
  expect(await names(database)).toEqual(['a', 'b']);
});

test('waiting writes share a commit; if one of them fails, the others are committed alone and in order', async () => {
  const database = await openEmpty();
  const commit = database.groupCommit(
    async (session, writes: readonly { name: string; error?: Error | undefined }[]) => {
      for (const { name, error } of writes) {
        session.append('INSERT INTO tags (id, name) SELECT uuid(), unnest(CAST($1 AS VARCHAR[]))', [name]);
        if (error !== undefined) throw error;
      }
      const [row] = await session.all('SELECT CAST(txid_current() AS VARCHAR) AS id');
      return writes.map(() => row?.['id']);
    },
  );
  const write = (name: string, error?: Error): Promise<unknown> => commit({ name, error });

  const together = await Promise.all(['a', 'b', 'c'].map((name) => write(name)));
  expect(new Set(together).size).toBe(1);
  expect(await names(database)).toEqual(['a', 'b', 'c']);

  // Other work between two writes keeps its place.
  const [first, between, last] = await Promise.all([write('d'), names(database), write('e')]);
  expect(between).toEqual(['a', 'b', 'c', 'd']);
  expect(first).not.toBe(last);

  const failing = await Promise.allSettled([write('f'), write('g', new Error('stop')), write('h')]);
  expect(failing.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(failing[1]).toMatchObject({ reason: new Error('stop') });
  expect(await names(database)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'h']);

  await database.close();
  for (const name of ['i', 'j']) await expect(write(name)).rejects.toThrow('closed');
});

test('if the write of a page fails, the next page stores its forms', async () => {
  const database = await openEmpty();
  const stored = async (): Promise<unknown> => (await database.exclusive((session) => readShapes(session.query))).rows;
  const writer = createShapeWriter({ rows: [] });
  const forms = new Map([['envelope', 'data']]);
  const commit = database.groupCommit(async (session, writes: readonly ((session: Session) => Promise<void>)[]) => {
    for (const one of writes) await one(session);
    return writes;
  });
  const write = (resource: string, error?: Error): Promise<unknown> =>
    writer.write(resource, forms, (writeForms) =>
      commit(async (session) => {
        await writeForms(session);
        if (error !== undefined) throw error;
      }),
    );
  const results = await Promise.allSettled([write('a', new Error('stop')), write('a'), write('b')]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(await stored()).toEqual([
    ['a', 'envelope', 'data'],
    ['b', 'envelope', 'data'],
  ]);
  expect(writer.isChanged('b', forms)).toBe(false);

  await expect(write('c', new Error('stop'))).rejects.toThrow('stop');
  expect(writer.isChanged('c', forms)).toBe(true);
  await write('c');
  expect(await stored()).toContainEqual(['c', 'envelope', 'data']);
});
