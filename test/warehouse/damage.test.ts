import { existsSync, openSync, writeSync } from 'node:fs';
import { copyFile, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase, type Session } from '../../src/warehouse/database.ts';
import { DamagedFile, toDatabaseError, toOpenError, toReadError } from '../../src/warehouse/errors.ts';
import { openReadOnly } from '../../src/warehouse/file/read-only.ts';
import { publishAnalytics } from '../../src/warehouse/replica.ts';
import { temporaryFolder } from '../support/folders.ts';

const PATH = '/data/warehouse.duckdb';
const FULL = 'Could not write file "/data/warehouse.duckdb": No space left on device';

describe('an error of DuckDB', () => {
  test.for([
    ['IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2 in block at location 3'],
    [`IO Error: Could not read enough bytes from file "${PATH}": attempted to read 9 bytes from location 8`],
    [`IO Error: Failure while replaying WAL file "${PATH}.wal": Corrupt WAL file: entry at byte position 1`],
    [`IO Error: The file "${PATH}" exists, but it is not a valid DuckDB database file!`],
    ['Serialization Error: Failed to deserialize: expected end of object, but found field id: 100'],
    ['INTERNAL Error: Attempted to access index 3 within vector of size 2'],
    ['FATAL Error: Failed to create checkpoint because of error: Corrupt database file'],
    ['FATAL Error: Failed: database has been invalidated because of a previous fatal error.'],
    ['TransactionContext Error: Failed to commit: Could not read enough bytes from file'],
  ])('that means damage gets a message without the text of DuckDB: %s', ([message]) => {
    const error = toDatabaseError(PATH, new Error(message));
    expect(error).toBeInstanceOf(DamagedFile);
    expect(error).toMatchObject({ code: 'warehouse_invalid', path: PATH });
    expect(error.message).toMatch(/^\/data\/warehouse\.duckdb is damaged: [a-zA-Z -]+$/);
  });

  test.for([
    [`IO Error: ${FULL}`, 'disk_full'],
    [`FATAL Error: Failed to create checkpoint because of error: ${FULL}`, 'disk_full'],
    [
      `FATAL Error: database has been invalidated because of a previous fatal error. Original error: ${FULL}`,
      'disk_full',
    ],
    ['Out of Memory Error: failed to allocate data of size 1 MiB (96.0 MiB/96.0 MiB used)', 'out_of_memory'],
    [
      'FATAL Error: Failed to create checkpoint because of error: Out of Memory Error: failed to pin block',
      'out_of_memory',
    ],
    ["Conversion Error: Could not convert string 'Corrupt database file: checksum' to INT32", 'internal'],
    ['Binder Error: Referenced column "checksum" not found in FROM clause', 'internal'],
  ] as const)('that does not mean damage keeps its code: %s', ([message, code]) => {
    expect(toDatabaseError(PATH, new Error(message))).toMatchObject({ code });
  });

  test.for([
    [
      'IO Error: Could not set lock on file "/data/warehouse.duckdb": Conflicting lock is held in node (PID 7)',
      'warehouse_locked',
    ],
    [
      'Serialization Error: Trying to read a database file with version number 99, but we can only read version 64',
      'warehouse_newer',
    ],
    ['IO Error: Cannot open file "/data/warehouse.duckdb": Permission denied', 'folder_unwritable'],
    ['IO Error: Cannot open file "/data/warehouse.duckdb": File name too long', 'folder_unwritable'],
    [`IO Error: ${FULL}`, 'disk_full'],
    ['IO Error: Could not read from file "/data/warehouse.duckdb": Is a directory', 'warehouse_invalid'],
    ['IO Error: Extension "/root/sqlite_scanner.duckdb_extension" not found.', 'warehouse_invalid'],
  ] as const)('on opening maps to an error code: %s', ([message, code]) => {
    expect(toOpenError(PATH, new Error(message))).toMatchObject({ code });
  });

  test("of a user's SQL is damage only if DuckDB could not read the file", () => {
    expect(toReadError(PATH, new Error('INTERNAL Error: Attempted to access index 3'))).toBeNull();
    expect(toReadError(PATH, new Error('Invalid Input Error: Corrupt database file'))).toBeNull();
    expect(toReadError(PATH, new Error('IO Error: Corrupt database file: computed checksum'))).toMatchObject({
      path: PATH,
    });
  });

  test('that names another file is an error of that file', () => {
    const message = 'IO Error: Could not read enough bytes from file "/data/other.duckdb": attempted to read 9 bytes';
    expect(toDatabaseError(PATH, new Error(message))).toMatchObject({ path: '/data/other.duckdb' });
  });
});

test('a sound file without its free blocks at the end opens; a file truncated inside a table does not', async () => {
  const path = join(await temporaryFolder(), 'warehouse.duckdb');
  const database = await openDatabase(path);
  const statements = [
    'CREATE TABLE t (i BIGINT PRIMARY KEY, text VARCHAR)',
    'INSERT INTO t SELECT i, md5(CAST(i AS VARCHAR)) FROM range(200000) r(i)',
    'CHECKPOINT',
    'INSERT OR REPLACE INTO t SELECT i, md5(CAST(-i AS VARCHAR)) FROM range(200000) r(i)',
    'CHECKPOINT',
    'DROP TABLE t',
    'CREATE TABLE u AS SELECT hash(i) AS h FROM range(100000) r(i)',
    'CHECKPOINT',
  ];
  for (const statement of statements) await database.exclusive((session) => session.run(statement));
  await database.close();
  const { size } = await stat(path);
  const instance = await openReadOnly(path, { memoryLimitMb: 64 });
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll('SELECT block_size * total_blocks FROM pragma_database_size()');
  instance.closeSync();
  expect(size, 'the file is shorter than all of its blocks').toBeLessThan(Number(reader.getRows()[0]?.[0]));
  await truncate(path, size - 262_144);
  await expect(openReadOnly(path, { memoryLimitMb: 64 })).rejects.toMatchObject({ code: 'warehouse_invalid' });
});

test('a database with damage found by a statement rejects all work, is not written to and not published', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'warehouse.duckdb');
  const replica = join(folder, 'analytics.duckdb');
  const first = await openDatabase(path);
  await first.exclusive((session) =>
    session.run('CREATE TABLE t AS SELECT i, hash(i) AS h FROM range(200000) r(i); CHECKPOINT'),
  );
  await publishAnalytics(first, replica);
  await first.close();
  const published = await readFile(replica);

  const database = await openDatabase(path);
  await database.transaction((session) => session.run('CREATE TABLE later AS SELECT 1 AS one'));
  // The blocks of the table are not loaded yet. Keep the descriptor open: closing it would drop DuckDB's lock.
  const descriptor = openSync(path, 'r+');
  const { size } = await stat(path);
  for (let at = 12_288 + 4_096; at < size; at += 16_384) writeSync(descriptor, Buffer.from([0x5a]), 0, 1, at);
  // Also the writes that wait together with the one that finds the damage.
  const insert = (session: Session): Promise<unknown> => session.run('INSERT INTO later VALUES (3)');
  const read = (session: Session): Promise<unknown> => session.all('SELECT sum(h) FROM t');
  const commit = database.groupCommit(async (session, writes: readonly ((session: Session) => Promise<unknown>)[]) => {
    for (const write of writes) await write(session);
    return writes;
  });
  const results = await Promise.allSettled([insert, read, insert].map(commit));
  const damage = database.damage();
  expect(damage).toBeInstanceOf(DamagedFile);
  expect(damage).toMatchObject({ code: 'warehouse_invalid', path });
  expect(results).toEqual(results.map(() => ({ status: 'rejected', reason: damage })));
  await copyFile(path, join(folder, 'before'));

  await expect(database.transaction((session) => session.run('INSERT INTO later VALUES (2)'))).rejects.toBe(damage);
  await expect(database.exclusive((session) => session.run('CHECKPOINT'))).rejects.toBe(damage);
  await expect(publishAnalytics(database, replica)).rejects.toBe(damage);
  await database.close();
  expect((await readFile(path)).equals(await readFile(join(folder, 'before')))).toBe(true);
  expect((await readFile(replica)).equals(published)).toBe(true);
  expect(existsSync(`${replica}.new`)).toBe(false);
});

test('a replica is not replaced if the copy of the warehouse finds damage', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'warehouse.duckdb');
  const replica = join(folder, 'analytics.duckdb');
  const first = await openDatabase(path);
  await first.exclusive((session) => session.run('CREATE TABLE t AS SELECT hash(i) AS h FROM range(200000) r(i)'));
  await first.close();
  const bytes = await readFile(path);
  for (let at = 12_288 + 4_096; at < bytes.length; at += 16_384) bytes[at] = 0x5a;
  // The header and the catalog are intact, so the file opens.
  const whole = await readFile(path);
  for (let keep = 1; keep <= 8; keep++) {
    const mixed = Buffer.concat([
      whole.subarray(0, 12_288),
      bytes.subarray(12_288, -keep * 262_144),
      whole.subarray(-keep * 262_144),
    ]);
    await writeFile(path, mixed);
    const opened = await openDatabase(path).catch(() => null);
    if (opened === null) continue;
    await writeFile(replica, 'the last good replica');
    await expect(publishAnalytics(opened, replica)).rejects.toBeInstanceOf(DamagedFile);
    expect(opened.damage()).not.toBeNull();
    await opened.close();
    expect(await readFile(replica, 'utf8')).toBe('the last good replica');
    expect(existsSync(`${replica}.new`)).toBe(false);
    return;
  }
  throw new Error('no bit flip damaged rows without damaging the catalog');
});
