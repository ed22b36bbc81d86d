import { randomBytes } from 'node:crypto';
import { cp, mkdir, rename, symlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { defaultConventions } from '../../../src/metrics/calibration/conventions.ts';
import { layoutOf } from '../../../src/publish/snapshot/layout.ts';
import { createService } from '../../../src/read/create-service.ts';
import { createKeyDirectory } from '../../../src/serve/auth/key-directory.ts';
import { createKey, openKeyring, revokeKey } from '../../../src/serve/auth/keys.ts';
import { startServer } from '../../../src/serve/http/http-server.ts';
import { openLog } from '../../../src/serve/telemetry/server-log.ts';
import { REPLICA_OPTIONS } from '../../../src/warehouse/replica.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import { until } from '../../cli/helpers.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { OPEN_OPTIONS, openFleetServer, workspaceIn, workspacesIn } from '../fleet-server.ts';
import { worldBefore } from '../served-world.ts';
import { requestText, sendRaw } from './support.ts';

const [tiny, small] = [worldBefore('tiny'), worldBefore('small')];

/** Folders of workspaces, each with a key; `lines` receives the log. */
async function prepare(...names: readonly string[]) {
  const folder = await temporaryFolder();
  const keys: Record<string, string> = {};
  const configs = await workspacesIn(folder, names);
  for (const name of names) keys[name] = (await createKey(join(folder, name), name, null, Date.now())).text;
  const lines: string[] = [];
  const log = openLog((text) => void lines.push(text), 'info', systemClock);
  return { folder, keys, configs, lines, log };
}

async function serve(
  prepared: Awaited<ReturnType<typeof prepare>>,
  refresh: (signal: AbortSignal | undefined) => Promise<unknown> = async () => undefined,
  refreshMs = 60_000,
) {
  const server = await openFleetServer({
    queryTimeoutMs: 5_000,
    log: prepared.log,
    fleetFolder: prepared.folder,
    workspaces: () => prepared.configs,
    refresh: ({ signal }) => refresh(signal),
    refreshMs,
  });
  // Without data the status is 503 for any known key.
  const ask = async (key = '') => (await fetch(`${server.baseUrl}/brands`, { headers: { 'x-api-key': key } })).status;
  return { ...server, ask };
}

it('the server stops while more workspaces are opening than can be fetched concurrently', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const prepared = await prepare(...names);
  let fetching = 0;
  const server = await serve(prepared, (signal) => {
    fetching += 1;
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('ended'))));
  });
  // Requests that had not arrived when the server stopped fail.
  const asked = Promise.allSettled(names.map((name) => server.ask(prepared.keys[name])));
  await until('some are being fetched', async () => fetching === 4);
  await server.close();
  const answers = await asked;
  expect(answers.filter((answer) => answer.status === 'fulfilled' && answer.value !== 503)).toEqual([]);
});

it('open workspaces are refreshed at each interval, also after a failure', async () => {
  const prepared = await prepare('a');
  const copy = layoutOf(join(prepared.folder, 'a')).analytics;
  const versions = [tiny().copy, null, small().copy];
  const server = await serve(
    prepared,
    async () => {
      const version = versions.shift();
      if (version === null) throw new Error('the home cannot be read');
      if (version === undefined) return;
      await cp(version, `${copy}.new`);
      await rename(`${copy}.new`, copy);
    },
    20,
  );
  const brands = async (): Promise<number> => {
    const answer = await fetch(`${server.baseUrl}/brands`, { headers: { 'x-api-key': prepared.keys['a'] ?? '' } });
    return ((await answer.json()) as { data?: unknown[] }).data?.length ?? 0;
  };
  await until('the last version is served', async () => (await brands()) === 2);
  expect(prepared.lines.join('')).toContain('the home cannot be read');
});

it('keys of other workspaces work if one folder cannot be read', async () => {
  const prepared = await prepare('a', 'b');
  const loop = join(prepared.folder, 'loop');
  await symlink(loop, loop);
  prepared.configs.set('loop', workspaceIn(prepared.folder, 'loop'));
  const server = await serve(prepared);
  expect([server.keys, await server.ask(prepared.keys['a']), await server.ask('gsk_nobody')]).toEqual([2, 503, 401]);
  expect(prepared.lines.join('')).toContain('"workspace":"loop"');
});

it('a key that two workspaces share is rejected', async () => {
  const prepared = await prepare('a', 'b');
  const server = await serve(prepared);
  expect(await server.ask(prepared.keys['a'])).toBe(503);
  await cp(join(prepared.folder, 'a', 'keys.json'), join(prepared.folder, 'b', 'keys.json'));
  await until(
    'the copy is seen',
    async () => (await server.ask('gsk_nobody')) === 401 && (await server.ask(prepared.keys['a'])) === 401,
  );
  expect(prepared.lines.join('')).toMatch(/"workspace":"b".*keys of b are also keys of a/);
});

it('a revoked key stays 401, and does not block the other keys of its address', async () => {
  const prepared = await prepare('a', 'b');
  const server = await serve(prepared);
  await revokeKey(join(prepared.folder, 'a'), 'a');
  await until('the key is revoked', async () => (await server.ask(prepared.keys['a'])) === 401);
  for (let times = 0; times < 40; times++) expect(await server.ask(prepared.keys['a'])).toBe(401);
  expect(await server.ask('gsk_guess')).toBe(401);
  expect(await server.ask(prepared.keys['b'])).toBe(503);
});

it('a workspace is served from the folder in the current settings', async () => {
  const prepared = await prepare('a');
  const server = await serve(prepared);
  expect(await server.ask(prepared.keys['a'])).toBe(503);
  const moved = join(prepared.folder, 'moved');
  await mkdir(join(moved, 'a'), { recursive: true });
  const { text } = await createKey(join(moved, 'a'), 'new', null, Date.now());
  prepared.configs = new Map([['a', workspaceIn(moved, 'a')]]);
  await until('the new key is known', async () => (await server.ask(text)) === 503);
  expect(await server.ask(prepared.keys['a'])).toBe(401);
});

/** A server of real services that opens a workspace when the test allows it. */
async function routed(names: readonly string[], gate: (name: string) => Promise<void>, openMax = 10) {
  const { folder, keys, log } = await prepare(...names);
  const closed: string[] = [];
  const workspaces = new Map(names.map((name) => [name, { folder: join(folder, name) }]));
  const directory = createKeyDirectory({
    workspaces: () => workspaces,
    fleetFolder: folder,
    monotonic: systemClock.monotonic,
    onDamage: () => undefined,
  });
  const server = await startServer(
    {
      clock: systemClock,
      log,
      workspaces: { catalogue, directory, fleet: undefined },
      version: () => '',
      open: async (name) => {
        await gate(name);
        const service = createService({
          catalogue,
          path: join(folder, name, 'none.duckdb'),
          clock: systemClock,
          cursorSecret: randomBytes(32),
          replica: REPLICA_OPTIONS,
          readConventions: async () => defaultConventions,
        });
        const close = async () => {
          closed.push(name);
          await service.close();
        };
        return { parts: { service, keyring: openKeyring(join(folder, name)) }, close };
      },
    },
    { ...OPEN_OPTIONS, openMax },
  );
  onTestFinished(() => server.close());
  return { server, keys, closed, port: Number(new URL(server.baseUrl).port) };
}

it('an evicted workspace is closed, even after a client disconnected with pipelined requests', async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { keys, closed, port, server } = await routed(
    ['a', 'b'],
    (name) => (name === 'a' ? held : Promise.resolve()),
    1,
  );
  const socket = connect(port, '127.0.0.1');
  const text = `GET /v1/brands HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${keys['a']}\r\n\r\n`;
  socket.write(text.repeat(3));
  await until('it is being opened', async () => server.open().includes('a'));
  socket.destroy();
  await new Promise((resolve) => socket.once('close', resolve));
  await new Promise((resolve) => setTimeout(resolve, 50));
  release();
  await sendRaw(port, requestText('GET', '/v1/brands', { 'X-API-Key': keys['b'] ?? '' }));
  await until('it is closed', async () => closed.includes('a'));
});

it('a workspace that cannot be opened returns an error', async () => {
  const { keys, port } = await routed(['a'], () => Promise.reject(new Error('of the disk')));
  const answer = await sendRaw(port, requestText('GET', '/v1/brands', { 'X-API-Key': keys['a'] ?? '' }));
  expect(answer).toMatch(/^HTTP\/1\.1 500 [\s\S]*"code":"internal"/);
  expect(answer).not.toContain('of the disk');
});
