import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import type { Finding } from '../../src/operations/doctor/check-context.ts';
import { checkPublishing } from '../../src/operations/doctor/check-stores.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { openScratch } from '../../src/warehouse/scratch.ts';
import { hashes } from '../publish/snapshot/readers.ts';
import type { Finished } from '../support/run-command.ts';
import { S3_KEY, type S3Server, startS3Server } from '../support/s3-server.ts';
import { worldClock } from '../support/worlds.ts';
import { rowsIn, shareCli } from './helpers.ts';

const workspace = shareCli({ world: 'tiny' });
let server: S3Server;

beforeAll(async () => {
  server = await startS3Server();
  Object.assign(process.env, S3_KEY);
  await rm(join(workspace.data, 'snapshots'), { recursive: true });
});
afterAll(() => server.close());

async function configure(changes: Record<string, unknown> = {}): Promise<void> {
  const publish = { kind: 's3', bucket: server.bucket, prefix: 'bi', endpoint: server.endpoint, ...changes };
  await writeFile(join(workspace.folder, 'sightline.config.json'), JSON.stringify({ publish }));
}

const run = (...args: string[]): Promise<Finished> => workspace.run(...args);

/** Returns what `sightline doctor` finds about publishing. */
function examine(): Promise<Finding[]> {
  const { folder, env } = workspace;
  const config = loadConfig({ flags: {}, environment: { ...env }, folder });
  const context = { config, clock: worldClock(), signal: AbortSignal.any([]), command: 'doctor' };
  const layout = layoutOf(config.folder);
  return checkPublishing({ context, layout, folder, isOffline: false, fix: false, owner: null });
}

test('an export publishes a snapshot with the same rows as the warehouse, and prints its location', async () => {
  await configure();
  expect(await examine()).toMatchObject([{ status: 'ok', message: expect.stringMatching(/nothing is published/) }]);
  const { code, stdout, stderr } = await run('export', '--json');
  expect(code, stderr).toBe(0);
  const { snapshotId, path, published } = JSON.parse(stdout);
  const files = Object.keys(hashes(path)).length - 1;
  expect(published).toMatchObject({ kind: 's3', bucket: 'lake', prefix: 'bi/default/', pointer: 'moved', deleted: [] });
  expect(published).toMatchObject({ latest: snapshotId, location: 's3://lake/bi/default/', sent: { files } });

  const again = await run('export');
  expect(again.stderr).toMatch(
    /Published to s3:\/\/lake\/bi\/default\/: 0 files sent, 0 B; the others already existed/,
  );
  const current = expect.stringMatching(/^s3:\/\/lake.* its latest snapshot is \d{8}T\d{6}Z/);
  expect(await examine()).toMatchObject([{ status: 'ok', message: current }]);

  const folder = await download('bi/default/');
  await workspace.done('restore', folder, '--data-dir', 'restored', '--yes');
  const query = 'select count(*) n, sum(hash(id)) h, max(created_at) t from responses';
  const [here] = await workspace.rows(query);
  expect(await rowsIn(workspace.folder, { ...workspace.env, SIGHTLINE_DATA_DIR: 'restored' }, query)).toEqual([here]);

  // The queries of docs/bi.md, with the folder instead of the bucket.
  const text = readFileSync(join(import.meta.dirname, '../../docs/bi.md'), 'utf8');
  const [queries = ''] = /SET VARIABLE base[\s\S]*?getvariable\('files'\)\);/.exec(text) ?? [];
  const scratch = await openScratch({ memoryLimitMb: 128, temporaryFolder: join(folder, 'temporary') });
  let rows: Readonly<Record<string, unknown>>[] = [];
  for (const query of queries.replace(/'s3:[^']*'/, `'${folder}/'`).split(';\n')) rows = await scratch.all(query);
  scratch.close();
  expect(rows).toEqual([{ 'count_star()': BigInt(Number(here?.['n'])) }]);
});

test('an error of the store is reported without secrets, and the folder still gets the snapshot', async () => {
  await configure({ bucket: 'nothing' });
  const missing = await run('export', '--json');
  expect(missing.code, missing.stderr).toBe(1);
  expect(JSON.parse(missing.stdout).error).toMatchObject({
    code: 'publish_failed',
    message: expect.stringMatching(/s3:\/\/nothing\/bi\/default\/latest\.json failed: the bucket does not exist/),
  });
  await configure();
  server.fault = ({ method }) => (method === 'PUT' ? 'forbidden' : null);
  const refused = await examine();
  const message = expect.stringMatching(/^writing s3:.* the credentials lack a permission/);
  expect(refused).toMatchObject([{ status: 'failure', message }]);
  server.fault = () => null;
  for (const text of [missing.stdout + missing.stderr, JSON.stringify(refused)]) {
    expect(text).not.toContain(S3_KEY.AWS_SECRET_ACCESS_KEY);
    expect(text).not.toContain(S3_KEY.AWS_ACCESS_KEY_ID);
  }
});

// Copies files like `aws s3 sync`, with the manifest at its place in a snapshot.
async function download(prefix: string): Promise<string> {
  const folder = join(workspace.folder, 'downloaded');
  const { manifest } = JSON.parse(server.objects.get(`${prefix}latest.json`)?.body.toString() ?? '');
  for (const [key, { body }] of server.objects) {
    if (!key.startsWith(`${prefix}files/`)) continue;
    await mkdir(dirname(join(folder, key.slice(prefix.length))), { recursive: true });
    await writeFile(join(folder, key.slice(prefix.length)), body);
  }
  for (const name of ['latest.json', manifest]) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), server.objects.get(prefix + name)?.body ?? '');
  }
  await writeFile(join(folder, 'manifest.json'), server.objects.get(prefix + manifest)?.body ?? '');
  expect(readFileSync(join(folder, 'manifest.json'), 'utf8')).toContain('"files/');
  return folder;
}
