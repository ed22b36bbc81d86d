import { readdirSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SightlineError } from '../../src/base/errors.ts';
import { backupWorkspace } from '../../src/operations/backup/backup.ts';
import { readRestoreSource, restoreWorkspace } from '../../src/operations/backup/restore.ts';
import { exportWorkspace } from '../../src/operations/export.ts';
import { exportFiles } from '../../src/operations/export/export-files.ts';
import { ownerLimits, queryWorkspace, saveText } from '../../src/operations/query.ts';
import { syncWorkspace } from '../../src/operations/sync.ts';
import type { SyncStats } from '../../src/sync/sync-stats.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { publishAnalytics } from '../../src/warehouse/replica.ts';
import { openGuardedSql } from '../../src/warehouse/sql/guarded-sql.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import type { Context } from '../../src/workspace/workspace.ts';
import { expectEqualToUpstream } from '../support/compare.ts';
import { sampleOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { describeWith } from '../support/needs.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { runCommand } from '../support/run-command.ts';
import { smallDisk } from '../support/small-disk.ts';
import { withWarehouseFile } from '../support/warehouse-file.ts';
import { copyWorld, startWorldSandbox } from '../support/worlds.ts';
import { contextIn } from './world-context.ts';

const MEGABYTE = 1_000_000;
const ROOMY_BYTES = 400 * MEGABYTE;
/** Resources that the syncs read. */
const ONLY = ['brands', 'prompts', 'responses'];
const ALL_ROWS = catalogue.tables.map(({ name }) => `SELECT '${name}', count(*) FROM "${name}"`).join(' UNION ALL ');
const NOT_MOUNTED = 'NOT TRIED: this user cannot mount a file system in memory';
const nothing = (): void => undefined;

/** Opens a workspace with the upstream of the world `tiny`, which it has synced if `isSynced`. */
async function openOn(folder: string, isSynced: boolean) {
  const sandbox = await startWorldSandbox('tiny');
  onTestFinished(() => sandbox.close());
  if (isSynced) await copyWorld('tiny', folder);
  const context = contextIn(folder, sandbox);
  const env = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
  const { clock } = context;
  const cli = (...args: string[]) => runCommand(args, { cwd: folder, env, clock });
  return { sandbox, context, cli, folder: context.config.folder };
}

async function countRows({ config }: Context): Promise<unknown> {
  return (await queryWorkspace(config, `${ALL_ROWS} ORDER BY 1`))[0]?.rows;
}

// The message has the folder, the free space and the needed space; the text of DuckDB or the system is the cause.
function fullDisk(folder: string, neededBy: RegExp): RegExp {
  return new RegExp(
    `^the disk of ${folder} has [\\d.]+ MB free, and ${neededBy.source} needs about [\\d.]+ MB(; [a-z ]+)?$`,
  );
}

async function failureOf(work: Promise<unknown>): Promise<SightlineError> {
  const thrown = await work.then(
    () => null,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(SightlineError);
  return thrown as SightlineError;
}

describeWith(process.platform === 'linux' ? null : 'this system has no tmpfs')('on a disk that is full', () => {
  test('the rows of a query leave the named file unchanged', async (context) => {
    const disk = await smallDisk(MEGABYTE);
    if (disk === null) return context.skip(NOT_MOUNTED);
    const path = join(disk.folder, 'rows.csv');
    await saveText(path, 'before');
    const { code, message } = await failureOf(saveText(path, 'x'.repeat(3 * MEGABYTE)));
    expect(code).toBe('disk_full');
    expect(message).toMatch(fullDisk(disk.folder, new RegExp(`the file ${path}`)));
    expect(await readFile(path, 'utf8')).toBe('before\n');
    expect(await readdir(disk.folder)).toEqual(['rows.csv']);
  });

  test('the rows of a query as Parquet fail', async (context) => {
    const disk = await smallDisk(8 * MEGABYTE);
    if (disk === null) return context.skip(NOT_MOUNTED);
    const path = join(await temporaryFolder(), 'rows.duckdb');
    await (await openDatabase(path)).close();
    const output = join(disk.folder, 'rows.parquet');
    const guarded = await openGuardedSql(path, { audience: 'owner', limits: ownerLimits(), output });
    onTestFinished(() => guarded.close());
    const rows = 'SELECT hash(range)::VARCHAR AS text FROM range(2000000)';
    await expect(guarded.writeParquet(rows)).rejects.toMatchObject({ code: 'disk_full' });
  });

  test('a sync is refused before its first request, and does not create a warehouse', async (context) => {
    const disk = await smallDisk(8 * MEGABYTE);
    if (disk === null) return context.skip(NOT_MOUNTED);
    const { sandbox, cli } = await openOn(disk.folder, false);
    const { code, stdout, stderr } = await cli('sync', '--json');
    const { error } = JSON.parse(stdout) as { error: Record<string, string> };
    const message = `the disk of ${disk.folder}/data/default has 8.0 MB free, and a sync needs about 200 MB`;
    expect(code).toBe(1);
    expect(error).toMatchObject({ code: 'disk_full', message });
    expect(stderr).toBe(`sightline: ${message}\n${error['hint']}\n`);
    expect(sandbox.requests).toEqual([]);
    expect(readdirSync(disk.folder)).toEqual([]);
  });

  test.for(sampleOf([1, 3, 5], 1, 1))(
    'a sync that runs out of space after %i requests loses nothing',
    async (requests, testContext) => {
      const disk = await smallDisk(ROOMY_BYTES);
      if (disk === null) return testContext.skip(NOT_MOUNTED);
      const { sandbox, folder, context } = await openOn(disk.folder, false);
      const request = { only: ONLY, range: null, brands: null };
      let isFull = false;
      const fill = (stats: SyncStats): void => {
        if (isFull || stats.requests < requests) return;
        isFull = true;
        disk.leave(0);
      };
      const error = await failureOf(syncWorkspace(context, request, fill));
      expect(isFull).toBe(true);
      expect(error.code).toBe('disk_full');
      expect(error.message).toMatch(fullDisk(folder, /(a sync|the next replica)/));
      expect(String((error.cause as Error).message)).not.toBe(error.message);
      disk.leave(ROOMY_BYTES);
      const summary = await syncWorkspace(context, request, nothing);
      expect(summary).toMatchObject({ status: 'complete', error: null });
      await withWarehouseFile(join(folder, 'warehouse.duckdb'), sandbox, (opened) =>
        expectEqualToUpstream(opened, { only: ONLY }),
      );
    },
  );

  test('backup, export and restore change nothing, name the folder with its free and the needed space, and succeed with room', async (testContext) => {
    const disk = await smallDisk(ROOMY_BYTES);
    if (disk === null) return testContext.skip(NOT_MOUNTED);
    const { folder, context } = await openOn(disk.folder, true);
    const expected = await countRows(context);
    const elsewhere = await temporaryFolder();
    const backup = join(elsewhere, 'backup.duckdb');
    await backupWorkspace(context, backup, false);
    const output = join(disk.folder, 'files');
    const before = await filesIn(disk.folder);
    const plain = {
      tables: ['responses', 'response_citations'],
      from: null,
      to: null,
      brands: null,
      format: 'csv',
      compression: 'snappy',
      output,
    } as const;
    const { source } = await readRestoreSource(context, backup, true);
    disk.leave(20_000);
    const failures: [RegExp, string, () => Promise<unknown>][] = [
      [/the backup [^ ]+/, disk.folder, () => backupWorkspace(context, join(disk.folder, 'copy.duckdb'), false)],
      [/the export [^ ]+/, disk.folder, () => exportFiles(context, plain, nothing)],
      [/a snapshot/, join(folder, 'snapshots'), () => exportWorkspace(context, nothing)],
      [/the restore of [^ ]+/, folder, () => restoreWorkspace(context, source)],
    ];
    for (const [by, where, run] of failures) {
      const error = await failureOf(run());
      expect(error).toMatchObject({ code: 'disk_full', message: expect.stringMatching(fullDisk(where, by)) });
      expect(await filesIn(disk.folder)).toEqual(before);
    }
    disk.leave(ROOMY_BYTES);
    expect(await countRows(context)).toEqual(expected);
    for (const [, , run] of failures) await run();
    expect(await countRows(context)).toEqual(expected);
  });

  test('--verbose shows the text of DuckDB as the cause, and the message without it does not', async (context) => {
    const disk = await smallDisk(ROOMY_BYTES);
    if (disk === null) return context.skip(NOT_MOUNTED);
    const { cli } = await openOn(disk.folder, true);
    disk.leave(20_000);
    const args = ['backup', join(disk.folder, 'copy.duckdb')];
    const brief = await cli(...args);
    expect(brief.code).toBe(1);
    expect(brief.stderr.trimEnd().split('\n')).toHaveLength(2);
    expect(brief.stderr).not.toContain('No space left on device');
    expect((await cli(...args, '--verbose')).stderr).toContain('No space left on device');
  });

  test('a checkpoint and a replica fail with disk_full and keep committed rows', async (context) => {
    const disk = await smallDisk(60 * MEGABYTE);
    if (disk === null) return context.skip(NOT_MOUNTED);
    const path = join(disk.folder, 'warehouse.duckdb');
    const database = await openDatabase(path, { memoryLimitMb: 64, threads: 1 });
    await database.exclusive(({ run }) =>
      run('CREATE TABLE t AS SELECT hash(range)::VARCHAR AS text FROM range(200000)'),
    );
    disk.leave(4_096);
    const published = await failureOf(publishAnalytics(database, join(disk.folder, 'analytics.duckdb')));
    expect(published.code).toBe('disk_full');
    expect(published.message).toMatch(fullDisk(disk.folder, /the next replica/));
    const insert = 'INSERT INTO t SELECT hash(range)::VARCHAR FROM range(400000)';
    expect((await failureOf(database.exclusive(({ run }) => run(insert)))).code).toBe('disk_full');
    await database.close();
    disk.leave(50 * MEGABYTE);
    const again = await openDatabase(path);
    onTestFinished(() => again.close());
    expect(await again.exclusive(({ query }) => query('SELECT count(*) FROM t'))).toEqual([[200_000]]);
    await again.exclusive(({ run }) => run('CHECKPOINT'));
  });
});

async function filesIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((name) => !name.includes('.budgets')).sort();
}
