import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NO_LOCK_LIST, startOther, watchLock } from '../support/file-lock.ts';
import { openCli, until } from './helpers.ts';

if (NO_LOCK_LIST !== null) process.stderr.write(`${NO_LOCK_LIST}\n`);

test.skipIf(NO_LOCK_LIST !== null)(
  'serve keeps its lock on the live file while it runs jobs and commands',
  async () => {
    const workspace = await openCli();
    expect((await workspace.run('sync')).code).toBe(0);
    const serving = workspace.start('serve', '--port', '0');
    await until('it serves', () => existsSync(join(workspace.data, 'serving.json')));
    const warehouse = join(workspace.data, 'warehouse.duckdb');
    const stop = watchLock(warehouse, serving.process.pid);
    // A sync keeps the file open for a while, during which other commands read the workspace.
    const sync = workspace.run('sync', '--full');
    const [status, doctor, query] = await Promise.all([
      workspace.run('status'),
      workspace.run('doctor', '--offline'),
      workspace.run('sql', 'SELECT count(*) FROM brands'),
    ]);
    const results = [await sync, status, doctor, query, await workspace.run('jobs', 'run', 'nightly')];
    results.push(await workspace.run('backup', join(workspace.folder, 'backup.duckdb')));
    expect(results.map(({ code }) => code)).toEqual(results.map(() => 0));
    const { locked, unlocked } = stop();
    expect([unlocked, locked > 0]).toEqual([0, true]);
    serving.process.kill('SIGTERM');
    await serving.finished;
    expect(await startOther()(warehouse)).toBe('opened');
  },
  240_000,
);
