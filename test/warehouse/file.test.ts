import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { createShapeWriter, readShapes } from '../../src/warehouse/ledger/shapes.ts';
import { SCHEMA_VERSION, sqlTypes } from '../../src/warehouse/schema.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { startChild } from '../support/child.ts';
import { temporaryFolder } from '../support/folders.ts';

const script = new URL('../support/sync-child.ts', import.meta.url);

const catalogue = createCatalogue(declarations);

async function newPath(): Promise<string> {
  return join(await temporaryFolder(), 'warehouse.duckdb');
}

// Changes a warehouse without sightline.
async function change(path: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

async function make(path: string): Promise<void> {
  const warehouse = await openWarehouse(path, catalogue, {});
  await warehouse.close();
}

describe('a new warehouse', () => {
  test('has every table and column of the catalogue, with types and comments', async () => {
    const path = await newPath();
    const warehouse = await openWarehouse(path, catalogue, {});
    const rows = await warehouse.database.exclusive((session) =>
      session.all(`SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE schema_name = 'main'
        AND NOT internal ORDER BY table_name, column_index`),
    );
    const tables = await warehouse.database.exclusive((session) =>
      session.all("SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = 'main'"),
    );
    await warehouse.close();
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

  test('does not change when it is opened again', async () => {
    const path = await newPath();
    await make(path);
    await change(path, "INSERT INTO tags (id, name) VALUES (uuid(), 'x')");
    const warehouse = await openWarehouse(path, catalogue, {});
    const [row] = await warehouse.database.exclusive((session) => session.all('SELECT count(*) AS n FROM tags'));
    expect(row).toEqual({ n: 1n });
    await warehouse.close();
  });
});

describe('an older warehouse', () => {
  test('gets missing columns and tables and keeps its rows', async () => {
    const path = await newPath();
    await make(path);
    await change(
      path,
      "INSERT INTO tags (id, name) VALUES (uuid(), 'x'); ALTER TABLE tags DROP COLUMN _extra; DROP TABLE alerts",
    );
    const warehouse = await openWarehouse(path, catalogue, {});
    const [row] = await warehouse.database.exclusive((session) => session.all('SELECT name, _extra FROM tags'));
    expect(row).toEqual({ name: 'x', _extra: null });
    const [alerts] = await warehouse.database.exclusive((session) => session.all('SELECT count(*) AS n FROM alerts'));
    expect(alerts).toEqual({ n: 0n });
    const comment = await warehouse.database.exclusive((session) =>
      session.all("SELECT comment FROM duckdb_columns() WHERE table_name = 'tags' AND column_name = '_extra'"),
    );
    expect(comment).toEqual([{ comment: expect.stringContaining('JSON') }]);
    await warehouse.close();
  });

  test('with a column of another type is rejected by name and not changed', async () => {
    const path = await newPath();
    await make(path);
    await change(path, 'ALTER TABLE tags ALTER name TYPE INTEGER; ALTER TABLE tags DROP COLUMN _extra');
    await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({
      code: 'warehouse_invalid',
      message: expect.stringMatching(/tags\.name .* is INTEGER, not VARCHAR/),
    });
    await change(path, 'ALTER TABLE tags ADD COLUMN _extra JSON');
    await change(path, 'ALTER TABLE tags ALTER name TYPE VARCHAR');
    await make(path);
  });
});

describe('a warehouse is rejected if', () => {
  test('a newer version of sightline wrote it', async () => {
    const path = await newPath();
    await make(path);
    await change(path, `UPDATE sync.meta SET value = '${SCHEMA_VERSION + 1}'`);
    await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({ code: 'warehouse_newer' });
    await change(path, `UPDATE sync.meta SET value = '${SCHEMA_VERSION}'`);
    await make(path);
  });

  test.for<[string, string]>([
    ['text', 'this is not a database, and longer than a header of one would be: '.repeat(100)],
    ['half a page', 'DUCK'],
  ])('the file is not a database but %s, and the file is not changed', async ([, content]) => {
    const path = await newPath();
    await writeFile(path, content);
    await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({
      code: 'warehouse_invalid',
      message: expect.stringContaining(path),
    });
    expect(await readFile(path, 'utf8')).toBe(content);
  });

  test('the file is a folder', async () => {
    const path = await newPath();
    await mkdir(path);
    await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({ message: expect.stringContaining(path) });
  });

  test('it is truncated', async () => {
    const path = await newPath();
    await make(path);
    const whole = await readFile(path);
    await writeFile(path, whole.subarray(0, Math.floor(whole.length / 3)));
    await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({ code: 'warehouse_invalid' });
  });

  test.skipIf(process.getuid?.() === 0)('this user may not write to it', async () => {
    const path = await newPath();
    await make(path);
    await chmod(path, 0o444);
    await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({ code: 'folder_unwritable' });
  });

  test('this process already has it open', async () => {
    const path = await newPath();
    const warehouse = await openWarehouse(path, catalogue, {});
    await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({ code: 'internal' });
    await warehouse.close();
    await make(path);
  });

  test('another process owns it, until that process ends', async () => {
    const path = await newPath();
    const child = startChild(script, path);
    expect(await child.message()).toBe('open');
    await expect(openWarehouse(path, catalogue, {})).rejects.toMatchObject({
      code: 'warehouse_locked',
      exit: 4,
      message: expect.stringContaining(String(child.process.pid)),
    });
    await child.kill();
    await make(path);
  });
});

test('a failed transaction is rolled back, and the next one succeeds', async () => {
  const warehouse = await openWarehouse(await newPath(), catalogue, {});
  const { database } = warehouse;
  const failed = database.transaction(async (session) => {
    await session.run("INSERT INTO tags (id, name) VALUES (uuid(), 'x')");
    throw new Error('stop');
  });
  await expect(failed).rejects.toThrow('stop');
  const broken = database.transaction((session) => session.run('SELECT * FROM nothing'));
  await expect(broken).rejects.toMatchObject({
    code: 'internal',
    cause: { message: expect.stringContaining('nothing') },
  });
  await database.transaction((session) => session.run("INSERT INTO tags (id, name) VALUES (uuid(), 'y')"));
  expect(await database.exclusive((session) => session.all('SELECT name FROM tags'))).toEqual([{ name: 'y' }]);
  await warehouse.close();
  await expect(database.exclusive((session) => session.all('SELECT 1'))).rejects.toThrow('closed');
});

test('sessions that read together see the same state, and writes wait for them', async () => {
  const warehouse = await openWarehouse(await newPath(), catalogue, {});
  const { database } = warehouse;
  const insert = (name: string) =>
    database.transaction((session) => session.run(`INSERT INTO tags (id, name) VALUES (uuid(), '${name}')`));
  const names = 'SELECT name FROM tags ORDER BY name';
  await insert('a');
  const order: string[] = [];
  const reading = database.readTogether(3, async (sessions) => {
    const queued = insert('b').then(() => order.push('written'));
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
  expect(await database.exclusive((session) => session.all(names))).toEqual([{ name: 'a' }, { name: 'b' }]);
  expect(order).toEqual(['read', 'written']);
  const failed = database.readTogether(2, async ([, other]) => {
    await other?.run("INSERT INTO tags (id, name) VALUES (uuid(), 'c')");
    throw new Error('stop');
  });
  await expect(failed).rejects.toThrow('stop');
  expect(await database.exclusive((session) => session.all(names))).toEqual([{ name: 'a' }, { name: 'b' }]);
  await warehouse.close();
});

test('waiting writes share a commit; if one of them fails, the others are committed alone and in order', async () => {
  const warehouse = await openWarehouse(await newPath(), catalogue, {});
  onTestFinished(() => warehouse.close());
  const { database } = warehouse;
  const transaction = 'SELECT CAST(txid_current() AS VARCHAR) AS id';
  const insert = (name: string, error?: Error): Promise<unknown> =>
    database.groupCommit(async (session) => {
      await session.run(`INSERT INTO tags (id, name) VALUES (uuid(), '${name}')`);
      if (error !== undefined) throw error;
      return (await session.all(transaction))[0]?.['id'];
    });
  const names = (): Promise<unknown[]> =>
    database.exclusive(async (session) =>
      (await session.all('SELECT name FROM tags ORDER BY rowid')).map(({ name }) => name),
    );

  const together = await Promise.all(['a', 'b', 'c'].map((name) => insert(name)));
  expect(new Set(together).size).toBe(1);
  expect(await names()).toEqual(['a', 'b', 'c']);

  // Other work between two writes keeps its place.
  const split = [insert('d'), names(), insert('e')];
  const [first, between, last] = await Promise.all(split);
  expect(between).toEqual(['a', 'b', 'c', 'd']);
  expect(first).not.toBe(last);

  const failing = await Promise.allSettled([insert('f'), insert('g', new Error('stop')), insert('h')]);
  expect(failing.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(failing[1]).toMatchObject({ reason: new Error('stop') });
  expect(await names()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'h']);

  await warehouse.close();
  for (const name of ['i', 'j']) await expect(insert(name)).rejects.toThrow('closed');
});

test('if the write of a page fails, the next page stores its forms', async () => {
  const { database, close } = await openWarehouse(await newPath(), catalogue, {});
  onTestFinished(close);
  const stored = async (): Promise<unknown> => (await database.exclusive((session) => readShapes(session.query))).rows;
  const writer = createShapeWriter({ rows: [] });
  const forms = new Map([['envelope', 'data']]);
  const write = (resource: string, error?: Error): Promise<void> =>
    writer.write(resource, forms, (writeForms) =>
      database.groupCommit(async (session) => {
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
