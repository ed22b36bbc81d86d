import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { hashFile } from '../../src/warehouse/file/hash-file.ts';
import { logOf, readOpened } from '../../src/warehouse/file/open-files.ts';
import { openReadOnly } from '../../src/warehouse/file/read-only.ts';
import { hasWriteLock, NO_LOCK_LIST } from '../support/file-lock.ts';
import { temporaryFolder } from '../support/folders.ts';

if (NO_LOCK_LIST !== null) process.stderr.write(`${NO_LOCK_LIST}\n`);

async function openOne(): Promise<{ path: string; database: Database; run: (sql: string) => Promise<number> }> {
  const path = join(await temporaryFolder(), 'warehouse.duckdb');
  const database = await openDatabase(path, { memoryLimitMb: 64 });
  onTestFinished(() => database.close());
  return { path, database, run: (sql) => database.exclusive((session) => session.run(sql)) };
}

/** Paths of this process's open descriptors within a folder. */
function openIn(folder: string): string[] {
  const found = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      return '';
    }
  });
  return found.filter((target) => target.startsWith(folder)).map((target) => relative(folder, target));
}

describe.skipIf(NO_LOCK_LIST !== null)('a file that DuckDB has open in this process', () => {
  test('stays locked while it and its log are read, and leaves no descriptor open after it is closed', async () => {
    const { path, database, run } = await openOne();
    const folder = join(path, '..');
    for (let round = 0; round < 3; round++) {
      await run(`CREATE TABLE t${round} AS SELECT * FROM range(1000)`);
      await hashFile(path);
      await Promise.all([hashFile(path), hashFile(logOf(path)), hashFile(path)]);
      expect([hasWriteLock(path), hasWriteLock(logOf(path))]).toEqual([true, true]);
      await run('CHECKPOINT');
      expect(hasWriteLock(path)).toBe(true);
    }
    // Every checkpoint deletes a log. Deleted logs before the last must not keep their disk space.
    expect(openIn(folder).filter((name) => name.endsWith('(deleted)')).length).toBeLessThanOrEqual(1);
    await database.close();
    expect(openIn(folder)).toEqual([]);
  });

  test('stays locked under its new name when another file replaces it', async () => {
    const { path, database } = await openOne();
    await hashFile(path);
    await rename(path, `${path}.kept`);
    await writeFile(path, 'new');
    await readOpened(path, async (readAt) => {
      const buffer = Buffer.alloc(8);
      expect(buffer.subarray(0, await readAt(buffer, 0)).toString()).toBe('new');
    });
    expect(hasWriteLock(`${path}.kept`)).toBe(true);
    await database.close();
    expect(openIn(join(path, '..'))).toEqual([]);
  });

  test('stays open for a running read when DuckDB closes it', async () => {
    const { path, database, run } = await openOne();
    await run('CREATE TABLE t AS SELECT * FROM range(1000)');
    await run('CHECKPOINT');
    await readOpened(path, async (readAt) => {
      await database.close();
      expect(await readAt(Buffer.alloc(100), 0)).toBe(100);
    });
    expect(openIn(join(path, '..'))).toEqual([]);
  });

  test('cannot be opened a second time by DuckDB, because closing it would drop the lock', async () => {
    const { path, database } = await openOne();
    const options = { memoryLimitMb: 64 };
    await expect(openReadOnly(path, options)).rejects.toMatchObject({ code: 'warehouse_locked' });
    await expect(openDatabase(path)).rejects.toMatchObject({ code: 'internal' });
    expect(hasWriteLock(path)).toBe(true);
    await database.close();
    const reader = await openReadOnly(path, options);
    await expect(openDatabase(path)).rejects.toMatchObject({ code: 'warehouse_locked' });
    reader.closeSync();
    await (await openDatabase(path)).close();
  });
});

describe('the source', () => {
  const root = join(import.meta.dirname, '../..');
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ path: `src/${name}`, text: readFileSync(join(root, 'src', name), 'utf8') }));
  /**
   * Functions that open and close a file. Functions that only use the path, such as `stat` and `rename`, are harmless.
   */
  const OPENERS =
    /^(open|openSync|openAsBlob|createReadStream|createWriteStream|syncToDisk|((read|write|append|copy)File|cp|truncate)(Sync)?)$/;
  const openersOf = (text: string): string[] =>
    [...text.matchAll(/import \{([^}]*)\} from '(?:node:fs(?:\/promises)?|[./]+base\/files\.ts)'/g)]
      .flatMap(([, names = '']) => names.split(',').map((name) => name.trim()))
      .filter((name) => OPENERS.test(name));

  test('opens the live file and its log only through readOpened', () => {
    const found = files.flatMap(({ path, text }) =>
      openersOf(text).flatMap((name) =>
        [...text.matchAll(new RegExp(`(?<![.\\w])${name}\\(([^;]*?)\\)`, 'g'))]
          .filter(([, given = '']) =>
            /\b(warehouse|live)\b|\blog\b|logOf|\.wal\b|\.duckdb\b|database\.path/.test(given),
          )
          .map(([call]) => `${path}: ${call}`),
      ),
    );
    expect(found).toEqual([]);
  });

  test("opens other files of the live file's folder only at known places", () => {
    const near = files.filter(({ path }) => /^src\/(warehouse\/|storage\/s3-|session\/home-)/.test(path));
    const found = near.flatMap(({ path, text }) => openersOf(text).map((name) => `${path}: ${name}`));
    expect(found.sort()).toEqual([
      // home.json.
      'src/session/home-folder.ts: readFile',
      'src/session/home-folder.ts: writeFile',
      // `analytics.duckdb.contents.json`, and the header of the replica.
      'src/warehouse/file/copy-contents.ts: open',
      'src/warehouse/file/copy-contents.ts: readFile',
      'src/warehouse/file/copy-contents.ts: writeFile',
      'src/warehouse/file/open-files.ts: openSync',
      // The replica, which no process opens for writing.
      'src/warehouse/file/refresh-copy.ts: copyFile',
      // The new replica, before it is renamed.
      'src/warehouse/replica.ts: syncToDisk',
      // Memory of the child process, from /proc.
      'src/warehouse/sql/guarded-sql.ts: readFileSync',
    ]);
  });
});
