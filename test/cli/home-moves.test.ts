import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/folders.ts';
import type { Finished } from '../support/run-command.ts';
import { S3_KEY, startS3Server } from '../support/s3-server.ts';
import { openCli, runCli } from './helpers.ts';

const COUNT = 'SELECT count(*) AS n FROM responses';

test('a workspace moves between its folder and a bucket without losing data that exist only in a folder', async () => {
  const cli = await openCli({ brands: 1, prompts: 1, days: 2, responsesPerDay: 10 });
  const server = await startS3Server();
  onTestFinished(() => server.close());
  const place = (prefix: string) => ({ kind: 's3', bucket: server.bucket, prefix, endpoint: server.endpoint });
  const machine = async () => {
    const folder = await temporaryFolder();
    await mkdir(folder, { recursive: true });
    const run = (...args: string[]): Promise<Finished> => runCli(args, { cwd: folder, env: { ...cli.env, ...S3_KEY } });
    const set = (settings: object) => writeFile(join(folder, 'sightline.config.json'), JSON.stringify(settings));
    return { folder, data: join(folder, 'data', 'default'), run, set };
  };
  const done = async (running: Promise<Finished>): Promise<string> => {
    const { code, stderr, stdout } = await running;
    expect(code, stderr + stdout).toBe(0);
    return stdout;
  };
  const [one, two] = [await machine(), await machine()];
  await one.set({});
  await two.set({});
  await done(one.run('sync'));
  await done(two.run('sync'));
  const rows = await done(one.run('sql', COUNT, '--json'));
  const raw = await readdir(join(one.data, 'raw'));

  // Move to the bucket: the data of the folder are uploaded and not fetched again.
  const remote = place('homes');
  await one.set({ remote, publish: place('lake') });
  const asked = cli.sandbox.requests.length;
  await done(one.run('export'));
  expect(cli.sandbox.requests.length).toBe(asked);
  expect(await readdir(join(one.data, 'raw'))).toEqual(raw);
  expect(await done(one.run('sql', COUNT, '--json'))).toEqual(rows);

  // Another machine has different data, which the bucket's data must not replace.
  await two.set({ remote });
  const refused = await two.run('sync', '--json');
  expect([refused.code, refused.stdout]).toEqual([
    1,
    expect.stringMatching(/remote_failed.*is not a copy of s3:\/\/lake\/homes/),
  ]);
  await rm(join(two.data, 'warehouse.duckdb'));
  for (const { run } of [two, one, one]) await done(run('export'));

  // The bucket is emptied.
  for (const key of server.objects.keys()) if (key.startsWith('homes/')) server.objects.delete(key);
  const emptied = await one.run('sync', '--json');
  expect([emptied.code, emptied.stdout]).toEqual([1, expect.stringMatching(/remote_failed.*is empty.*home\.json/)]);
  const again = await one.run('sync', '--json');
  expect([again.code, again.stdout]).toEqual([1, expect.stringMatching(/is empty/)]);
  await rm(join(one.data, 'home.json'));
  // Epochs start again, although higher ones were recorded with the published snapshots.
  await done(one.run('export'));
  expect(await done(one.run('sql', COUNT, '--json'))).toEqual(rows);

  // Move back to the folder, which may be older than the last check-in of others.
  const backup = join(one.folder, 'backup.duckdb');
  await done(one.run('backup', backup));
  await one.set({});
  const old = await one.run('sync', '--json');
  expect([old.code, old.stdout]).toEqual([1, expect.stringMatching(/remote_failed.*is a copy of s3:\/\/lake\/homes/)]);
  await done(one.run('restore', backup, '--yes', '--force'));
  await done(one.run('sync'));
  expect(await done(one.run('sql', COUNT, '--json'))).toEqual(rows);
});
