import { copyFile, mkdir, readdir } from 'node:fs/promises';
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
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { exportSnapshot } from '../../src/publish/snapshot/snapshot-export.ts';
import { openService } from '../../src/serve/open-service.ts';
import { copyOpened } from '../../src/warehouse/file/copy-check.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { withSession } from '../../src/workspace/session.ts';
import { type Context, type Opened, publish, withWarehouse } from '../../src/workspace/workspace.ts';
import { NOW_MS } from '../support/clocks.ts';
import { hasWriteLock, NO_LOCK_LIST, startOther, watchLock } from '../support/file-lock.ts';
import { temporaryFolder } from '../support/folders.ts';
import { describeWith } from '../support/needs.ts';
import { NO_PROBES } from '../support/no-probes.ts';
import { copyWorld, startWorldSandbox } from '../support/worlds.ts';

const SOME = { only: ['prompts'], range: null, brands: null, full: false } as const;
const RESOURCES = { memoryLimitMb: 256, threads: 1 } as const;

/** Opens a copy of a synced world. */
async function openPlace(): Promise<Context> {
  const sandbox = await startWorldSandbox('tiny');
  onTestFinished(() => sandbox.close());
  const folder = await temporaryFolder();
  await copyWorld('tiny', folder);
  const environment = { ...NO_PROBES, SIGHTLINE_BASE_URL: sandbox.baseUrl, SIGHTLINE_API_KEY: sandbox.key };
  const config = loadConfig({ flags: {}, environment, folder });
  const clock = { ...systemClock, now: () => NOW_MS };
  const { signal } = new AbortController();
  return { config, clock, signal, command: 'test' };
}

describeWith(NO_LOCK_LIST)('DuckDB keeps its lock on the live file', () => {
  test('at every step of a job', async () => {
    const context = await openPlace();
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

    const job = async ({ warehouse, copy }: Opened): Promise<void> => {
      const { database } = warehouse;
      const run = (...statements: string[]): Promise<void> =>
        database.transaction(async (session) => {
          for (const statement of statements) await session.run(statement);
        });
      await locked('open');
      await run('CREATE TABLE noise (id BIGINT, text VARCHAR)');
      for (let page = 1; page <= 3; page++) {
        await run(`INSERT INTO noise SELECT i, md5(i::VARCHAR) FROM range(${page * 1000}) r(i)`);
        await locked(`page ${page}`);
        expect([page, log()]).toEqual([page, true]);
      }
      await syncOpened(context, { warehouse, layout, copy }, 'sync', [SOME], () => {
        expect(hasWriteLock(layout.warehouse)).toBe(true);
      });
      await locked('sync');
      await publish(warehouse, layout, copy);
      await locked('publish the replica');
      const text = 'md5(i::VARCHAR) || md5((i + 1e9)::VARCHAR)';
      await run(`INSERT INTO noise SELECT i, ${text} FROM range(20000) r(i)`);
      await locked('large transaction');
      await database.exclusive((session) => session.run('CHECKPOINT'));
      await locked('checkpoint');
      await run('DELETE FROM noise');
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
      const results = await examine({ context, folder: config.folder, isOffline: true, fix: false });
      expect(results.find(({ check }) => check === 'warehouse')?.status).toBe('ok');
      await locked('doctor');
      expect((await service.freshness()).ready).toBe(true);
      await locked('serve from the replica');
    };

    await withSession(context, 'wait', async (inside) => {
      await withWarehouse(inside, RESOURCES, job);
      expect(hasWriteLock(layout.warehouse)).toBe(false);
      await withWarehouse(inside, RESOURCES, async () => {
        await locked('open again');
      });
    });
    expect(hasWriteLock(layout.warehouse)).toBe(false);
  });

  test('during complete operations', async () => {
    const context = await openPlace();
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
    for (const name of ['sync', 'backup', 'doctor', 'replay', 'restore'] as const) {
      const stop = watchLock(layout.warehouse);
      await operations[name]();
      const { locked, unlocked } = stop();
      expect([name, unlocked]).toEqual([name, 0]);
      if (name === 'sync') expect(locked).toBeGreaterThan(0);
    }
    expect((await readdir(config.folder)).sort()).toContain('warehouse.duckdb');
  });
});
