import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startSandboxWorkspace, type WorkspaceSandbox } from '../../../schemas/fixtures/start.ts';
import { addDays } from '../../../src/contract/time.ts';
import { expectRefusal, makeFolder, type Running, runCli, startCli, until } from '../../cli/helpers.ts';
import { temporaryFolder } from '../../support/folders.ts';
import type { Surroundings } from '../../support/run-command.ts';
import { S3_KEY, startS3Server } from '../../support/s3-server.ts';

const NAMES = ['north', 'south', 'west'] as const;
type Name = (typeof NAMES)[number];

const sandboxes = new Map<Name, WorkspaceSandbox>();
let folder = '';
let env: Record<string, string> = {};

beforeAll(async () => {
  folder = await makeFolder();
  for (const [index, name] of NAMES.entries()) {
    const size = { brands: 1, prompts: 2, days: 3, rateLimit: 10_000 };
    sandboxes.set(name, await startSandboxWorkspace({ ...size, key: `gsk_upstream_${name}`, seed: index + 1 }));
    env = { ...env, [`${name.toUpperCase()}_KEY`]: `gsk_upstream_${name}` };
  }
  await configure('north', 'south');
  const synced = await runCli(['sync', '--all'], { cwd: folder, env });
  expect(synced.code, synced.stderr).toBe(0);
});

afterAll(async () => {
  for (const sandbox of sandboxes.values()) await sandbox.close();
  await rm(folder, { recursive: true, force: true });
});

async function configure(...names: readonly Name[]): Promise<void> {
  const workspaces = names.map((name) => {
    const { baseUrl } = sandboxes.get(name) as WorkspaceSandbox;
    return [name, { baseUrl, apiKeyVariable: `${name.toUpperCase()}_KEY` }];
  });
  await writeFile(
    join(folder, 'sightline.config.json'),
    JSON.stringify({ workspaces: Object.fromEntries(workspaces) }),
  );
}

async function makeKey(workspace: Name, name: string): Promise<string> {
  const made = await runCli(['keys', 'create', name, '--workspace', workspace], { cwd: folder, env });
  expect(made.code, made.stderr).toBe(0);
  return made.stdout.trim();
}

async function serveAll(...flags: readonly string[]) {
  return serveFrom({ cwd: folder, env }, ...flags);
}

async function serveFrom(surroundings: Surroundings, ...flags: readonly string[]) {
  const args = ['serve', '--role', 'api', '--json', '--port', '0', ...flags];
  const running: Running = startCli(args, surroundings);
  const lines = createInterface({ input: running.process.stdout as NodeJS.ReadableStream });
  const line = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    void running.finished.then(({ stderr }) => reject(new Error(stderr)));
  });
  const told = JSON.parse(line) as {
    baseUrl: string;
    mcpUrl: string;
    metricsUrl: string;
    workspaces: number;
    keys: number;
  };
  const stop = async () => {
    running.process.kill('SIGTERM');
    return running.finished;
  };
  onTestFinished(async () => {
    running.process.kill('SIGKILL');
    await running.finished;
  });
  const get = (path: string, key: string) =>
    fetch(`${told.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return { ...told, get, stop };
}

async function upstreamBrands(name: Name): Promise<unknown> {
  const { baseUrl, key } = sandboxes.get(name) as WorkspaceSandbox;
  return (await fetch(`${baseUrl}/brands`, { headers: { 'x-api-key': key } })).json();
}

describe('serve --role api', () => {
  it('serves each key from its own workspace, including keys and workspaces added later', async () => {
    const north = await makeKey('north', 'n');
    const server = await serveAll('--metrics-port', '0');
    expect(server).toMatchObject({ workspaces: 2, keys: 1 });
    const south = await makeKey('south', 's');
    const answers = await Promise.all([north, south, north].map((key) => server.get('/brands', key)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const bodies = await Promise.all(answers.map((answer) => answer.json()));
    expect(bodies[0]).toEqual(await upstreamBrands('north'));
    expect(bodies[1]).toEqual(await upstreamBrands('south'));
    expect(bodies[2]).toEqual(bodies[0]);

    const [brand] = (bodies[1] as { data: { id: string }[] }).data;
    expect((await server.get(`/brands/${brand?.id}/responses`, south)).status).toBe(200);
    // The data of one workspace do not exist for another.
    expect((await server.get(`/brands/${brand?.id}/responses`, north)).status).toBe(404);
    expect((await server.get('/brands', 'gsk_nobody')).status).toBe(401);
    expect((await fetch(`${server.baseUrl}/brands`)).status).toBe(401);
    expect((await fetch(new URL('/readyz', server.baseUrl))).status).toBe(200);
    expect((await fetch(`${server.baseUrl}/openapi.json`)).status).toBe(200);
    expect((await fetch(new URL('/', server.baseUrl))).status).toBe(200);

    await configure('north', 'south', 'west');
    const west = await makeKey('west', 'w');
    await until('the third workspace is served', async () => (await server.get('/brands', west)).status === 503);
    const synced = await runCli(['sync', '--workspace', 'west'], { cwd: folder, env });
    expect(synced.code, synced.stderr).toBe(0);
    expect(await (await server.get('/brands', west)).json()).toEqual(await upstreamBrands('west'));

    const revoked = await runCli(['keys', 'revoke', 'n', '--workspace', 'north'], { cwd: folder, env });
    expect(revoked.code).toBe(0);
    expect((await server.get('/brands', north)).status).toBe(401);
    expect((await server.get('/brands', south)).status).toBe(200);
    const metrics = await (await fetch(server.metricsUrl)).text();
    expect(metrics).toContain('sightline_http_requests_total{route="/v1/brands",status="200"}');
    const { code, stderr } = await server.stop();
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('"workspace":"south"');
    expect(stderr).not.toContain('gsk_');
  });

  it('limits the number of open workspaces, keeps rate limits of closed ones, and serves MCP', async () => {
    const keys = [await makeKey('north', 'n2'), await makeKey('south', 's2')] as const;
    const server = await serveAll('--open-workspaces', '1', '--rate-limit', '12');
    for (let round = 0; round < 4; round++) {
      const [first, second] = await Promise.all(keys.map((key) => server.get('/brands', key)));
      expect(await first?.json()).toEqual(await upstreamBrands('north'));
      expect(await second?.json()).toEqual(await upstreamBrands('south'));
    }
    const client = new Client({ name: 'test', version: '1' });
    const headers = { authorization: `Bearer ${keys[1]}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(server.mcpUrl), { requestInit: { headers } }));
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThan(10);
    await client.close();
    const statuses: number[] = [];
    for (let times = 0; times < 9; times++) statuses.push((await server.get('/brands', keys[0])).status);
    expect(statuses).toEqual([...Array<number>(8).fill(200), 429]);
    const { code, stderr } = await server.stop();
    expect(code, stderr).toBe(0);
  });

  it('serves workspaces that another machine syncs into a bucket, and switches to each new version', async () => {
    const store = await startS3Server();
    onTestFinished(() => store.close());
    const sandbox = sandboxes.get('north') as WorkspaceSandbox;
    const home = { kind: 's3', bucket: store.bucket, endpoint: store.endpoint };
    const workspaces = { north: { baseUrl: sandbox.baseUrl, apiKeyVariable: 'NORTH_KEY', home } };
    const [writer, reader] = [await temporaryFolder(), await temporaryFolder()];
    for (const cwd of [writer, reader]) {
      await mkdir(cwd, { recursive: true });
      await writeFile(join(cwd, 'sightline.config.json'), JSON.stringify({ workspaces }));
    }
    // A process that only reads has no key for upstream.
    const { NORTH_KEY: key = '' } = env;
    const sync = () => runCli(['sync'], { cwd: writer, env: { ...S3_KEY, NORTH_KEY: key } });
    const surroundings = { cwd: reader, env: S3_KEY };
    const made = await runCli(['keys', 'create', 'far'], surroundings);
    const server = await serveFrom(surroundings, '--refresh', '1', '--rate-limit', 'off');
    const responses = async (): Promise<number> => {
      const [brand] = ((await upstreamBrands('north')) as { data: { id: string }[] }).data;
      // A default range ends at the server's today, and upstream's clock will be a day ahead.
      const [from, to] = [-10, 10].map((days) => addDays(new Date().toISOString().slice(0, 10), days));
      const path = `/brands/${brand?.id}/responses?limit=100&from=${from}&to=${to}`;
      const answer = await server.get(path, made.stdout.trim());
      return answer.status === 200 ? ((await answer.json()) as { data: unknown[] }).data.length : 0;
    };
    expect(await responses()).toBe(0);
    const first = await sync();
    expect(first.code, first.stderr).toBe(0);
    await until('the first published version is served', async () => (await responses()) > 0);
    const before = await responses();
    sandbox.world.advance({ days: 1 });
    expect((await sync()).code).toBe(0);
    await until('the second published version is served', async () => (await responses()) > before);
    store.fault = () => 'busy';
    expect(await responses()).toBeGreaterThan(before);
    const { code, stderr } = await server.stop();
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain(S3_KEY.AWS_SECRET_ACCESS_KEY);
  });

  it('rejects invalid flags, and keeps running with one damaged key file', async () => {
    const run = (...args: string[]) => runCli(['serve', '--role', 'api', '--port', '0', ...args], { cwd: folder, env });
    expectRefusal(await run('--workspace', 'north'), 'usage', false);
    expectRefusal(await run('--open-workspaces', '0'), 'usage', false);
    expectRefusal(await run('--refresh', 'soon'), 'usage', false);
    expectRefusal(await run('--pages', 'loopback'), 'usage', false);
    const path = join(folder, 'data', 'north', 'keys.json');
    const before = await readFile(path);
    await writeFile(path, 'not json');
    onTestFinished(() => writeFile(path, before));
    const south = await makeKey('south', 's3');
    const server = await serveAll();
    expect((await server.get('/brands', south)).status).toBe(200);
    // Simulates an editor that is rewriting the file.
    await rm(join(folder, 'sightline.config.json'));
    for (let look = 0; look < 25; look++) {
      expect((await server.get('/brands', south)).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { stderr } = await server.stop();
    expect(stderr).toContain('"workspace":"north"');
    expect(stderr).toContain('no longer exists');
  });
});
