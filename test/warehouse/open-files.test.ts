import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { openReadOnly } from '../../src/warehouse/file/read-only.ts';
import { hasWriteLock, NO_LOCK_LIST } from '../support/file-lock.ts';
import { temporaryFolder } from '../support/folders.ts';

if (NO_LOCK_LIST !== null) process.stderr.write(`${NO_LOCK_LIST}\n`);

async function openOne(): Promise<{ path: string; database: Database }> {
  const path = join(await temporaryFolder(), 'warehouse.duckdb');
  const database = await openDatabase(path, { memoryLimitMb: 64 });
  onTestFinished(() => database.close());
  return { path, database };
}

describe.skipIf(NO_LOCK_LIST !== null)('a file that DuckDB has open in this process', () => {
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

  test('opens neither the live file nor its log', () => {
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
    const near = files.filter(({ path }) =>
      /^src\/(warehouse\/|workspace\/home-|publish\/(storage\/s3-|destinations\/home-))/.test(path),
    );
    const found = near.flatMap(({ path, text }) => openersOf(text).map((name) => `${path}: ${name}`));
    expect(found.sort()).toEqual([
      // The live file and its log, in another process than DuckDB's.
      'src/publish/destinations/home-tables.ts: open',
      'src/publish/destinations/home-tables.ts: writeFile',
      // Files of a snapshot.
      'src/publish/storage/s3-store.ts: createReadStream',
      'src/publish/storage/s3-store.ts: open',
      // `analytics.duckdb.contents.json`, and the header of the replica.
      'src/warehouse/file/copy-contents.ts: open',
      'src/warehouse/file/copy-contents.ts: readFile',
      'src/warehouse/file/copy-contents.ts: writeFile',
      // Files of a snapshot.
      'src/warehouse/file/hash-file.ts: open',
      // The replica, which no process opens for writing.
      'src/warehouse/file/refresh-copy.ts: copyFile',
      // The new replica, before it is renamed.
      'src/warehouse/replica.ts: syncToDisk',
      // Memory of the child process, from /proc.
      'src/warehouse/sql/guarded-sql.ts: readFileSync',
      // home.json.
      'src/workspace/home-folder.ts: readFile',
      'src/workspace/home-folder.ts: writeFile',
    ]);
  });
});
