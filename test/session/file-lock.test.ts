import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { backupWorkspace } from '../../src/operations/backup/backup.ts';
import { readRestoreSource, restoreWorkspace } from '../../src/operations/backup/restore.ts';
import { examine } from '../../src/operations/doctor/doctor.ts';
import { exportFiles } from '../../src/operations/export/export-files.ts';
import { queryWorkspace } from '../../src/operations/query.ts';
import { replayWorkspace } from '../../src/operations/replay.ts';
import { readWorkspaceStatus } from '../../src/operations/status.ts';
import { syncOpened, syncWorkspace } from '../../src/operations/sync.ts';
import { openService } from '../../src/serve/open-service.ts';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import { withSession } from '../../src/session/session.ts';
import { type Context, type Opened, publish, withWarehouse } from '../../src/session/workspace.ts';
import { layoutOf } from '../../src/snapshot/layout.ts';
import { exportSnapshot } from '../../src/snapshot/snapshot-export.ts';
import { copyOpened } from '../../src/warehouse/file/copy-check.ts';
import { NOW_MS } from '../support/clocks.ts';
import { sampleOf } from '../support/counts.ts';
import { hasWriteLock, NO_LOCK_LIST, startOther, watchLock } from '../support/file-lock.ts';
import { temporaryFolder } from '../support/folders.ts';
import { describeWith } from '../support/needs.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { S3_KEY, type S3Server, startS3Server } from '../support/s3-server.ts';
import { copyWorld, startWorldSandbox } from '../support/worlds.ts';

const SOME = { only: ['prompts'], range: null, brands: null, full: false } as const;
const RESOURCES = { memoryLimitMb: 256, threads: 1 } as const;
/** Rows of a large transaction. In a bucket, they are larger than one upload part, so that the file is uploaded in parts. */
const LARGE = { 'a folder': 20_000, 'a bucket': 110_000 } as const;

interface Place {
  readonly context: Context;
  readonly server: S3Server | null;
}

/** Opens a copy of a synced world whose warehouse is kept in its folder or moves to a bucket. */
async function openPlace(remote: 'a folder' | 'a bucket'): Promise<Place> {
  const sandbox = await startWorldSandbox('tiny');
  onTestFinished(() => sandbox.close());
  const folder = await temporaryFolder();
  await copyWorld('tiny', folder);
  let server: S3Server | null = null;
  if (remote === 'a bucket') {
    Object.assign(process.env, S3_KEY);
    server = await startS3Server();
    onTestFinished(() => server?.close());
    const bucket = { kind: 's3', bucket: server.bucket, prefix: 'all', endpoint: server.endpoint };
    await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ remote: bucket }));
  }
  const environment = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
  const config = loadConfig({ flags: {}, environment, folder });
  const clock = { ...systemClock, now: () => NOW_MS };
  const { signal } = new AbortController();
  return { context: { config, clock, signal, command: 'test' }, server };
}

describeWith(NO_LOCK_LIST)('DuckDB keeps its lock on the live file', () => {
  test.each(sampleOf(['a folder', 'a bucket'] as const, 1, 1))(
    'at every step of a job if the warehouse is kept in %s',
    async (remote) => {
      const { context, server } = await openPlace(remote);
      const { config, clock, signal } = context;
      const layout = layoutOf(config.folder);
      const out = join(await temporaryFolder(), 'out');
      await mkdir(out);
      const tryToWrite = startOther();
      const locked = async (step: string): Promise<void> => {
        expect([step, hasWriteLock(layout.warehouse)]).toEqual([step, true]);
        expect([step, await tryToWrite(layout.warehouse)]).toEqual([step, 'refused']);
      };
      const log = (): boolean => hasWriteLock(`${layout.warehouse}.wal`);
      const service = openService(config, clock, new Uint8Array(32), 10_000);
      onTestFinished(() => service.close());

      const job = async ({ warehouse, copy, durable }: Opened): Promise<void> => {
        const { database } = warehouse;
        const run = (...statements: string[]): Promise<void> =>
          database.transaction(async (session) => {
            for (const statement of statements) await session.run(statement);
          });
        await locked('open');
        await run('CREATE TABLE noise (id BIGINT, text VARCHAR)');
        for (let page = 1; page <= 3; page++) {
          await run(`INSERT INTO noise SELECT i, md5(i::VARCHAR) FROM range(${page * 1000}) r(i)`);
          await durable();
          await locked(`page ${page}`);
          // The first page is uploaded to a bucket as a complete file, after which the log is empty.
          if (page > 1) expect([page, log()]).toEqual([page, true]);
        }
        await syncOpened(context, { warehouse, layout, copy, durable }, 'sync', [SOME], () => {
          expect(hasWriteLock(layout.warehouse)).toBe(true);
        });
        await locked('sync');
        await publish(warehouse, layout, copy);
        await locked('publish the replica');
        const text = 'md5(i::VARCHAR) || md5((i + 1e9)::VARCHAR)';
        await run(`INSERT INTO noise SELECT i, ${text} FROM range(${LARGE[remote]}) r(i)`);
        await durable();
        await locked('save the file whole, after a large transaction');
        await database.exclusive((session) => session.run('CHECKPOINT'));
        await locked('checkpoint');
        await durable();
        await locked('save the file whole, after a checkpoint');
        await run('DELETE FROM noise');
        await durable();
        await locked('page after that');
        expect(log()).toBe(true);
        // The replica is now older than the live file, so readers would prefer the live file.
        await readWorkspaceStatus(config, clock);
        await locked('status');
        await queryWorkspace(config, 'SELECT count(*) FROM brands');
        await locked('query');
        const brands = { tables: ['brands'], from: null, to: null, brands: null, compression: 'zstd' };
        await exportFiles(context, { ...brands, format: 'csv', output: join(out, 'files') }, () => undefined);
        await locked('export of files');
        await exportSnapshot(database, catalogue, layout, { compression: 'zstd', keep: null, clock, signal });
        await locked('export of a snapshot');
        await copyOpened(database, join(out, 'backup.duckdb'));
        await locked('backup of the open file');
        if (remote === 'a bucket') {
          await backupWorkspace(context, join(out, 'other.duckdb'), false);
          await locked('backup of the replica');
        }
        const results = await examine({ context, folder: config.folder, isOffline: true, fix: false });
        expect(results.find(({ check }) => check === 'warehouse')?.status).toBe('ok');
        await locked('doctor');
        expect((await service.freshness()).ready).toBe(true);
        await locked('serve from the replica');
      };

      await withSession(context, 'wait', async (inside) => {
        expect(inside.session.journal === null).toBe(remote === 'a folder');
        await withWarehouse(inside, RESOURCES, job);
        expect(hasWriteLock(layout.warehouse)).toBe(false);
        await withWarehouse(inside, RESOURCES, async ({ durable }) => {
          await durable();
          await locked('open again');
        });
      });
      expect(hasWriteLock(layout.warehouse)).toBe(false);
      const parts = server?.asked.filter(({ query }) => query.has('partNumber')) ?? [];
      expect(parts.length > 0).toBe(remote === 'a bucket');
    },
  );

  const complete = [
    { remote: 'a folder', names: ['sync', 'backup', 'doctor', 'replay', 'restore'] },
    { remote: 'a bucket', names: ['sync', 'restore'] },
  ] as const;
  test.each(sampleOf(complete, 1))(
    'during complete operations if the warehouse is kept in $remote',
    async ({ remote, names }) => {
      const { context } = await openPlace(remote);
      const { config } = context;
      const layout = layoutOf(config.folder);
      const folder = await temporaryFolder();
      const backup = join(folder, 'replica.duckdb');
      await copyFile(layout.analytics, backup);
      const operations = {
        sync: () => syncWorkspace(context, SOME, () => undefined),
        backup: () => backupWorkspace(context, join(folder, 'backup.duckdb'), false),
        doctor: () => examine({ context, folder: config.folder, isOffline: true, fix: true }),
        replay: () => {
          const options = { from: null, to: null, only: null, into: null, acceptMissing: true };
          return replayWorkspace(context, options, () => undefined);
        },
        restore: async () => {
          const { source } = await readRestoreSource(context, backup, true);
          return restoreWorkspace(context, source);
        },
      };
      for (const name of names) {
        const stop = watchLock(layout.warehouse);
        await operations[name]();
        const { locked, unlocked } = stop();
        expect([name, unlocked]).toEqual([name, 0]);
        if (name === 'sync') expect(locked).toBeGreaterThan(0);
      }
      expect((await readdir(config.folder)).sort()).toContain('warehouse.duckdb');
    },
  );
});
