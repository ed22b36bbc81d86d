import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createKey } from '../../../src/serve/auth/keys.ts';
import { expectRefusal, until } from '../../cli/helpers.ts';
import { NOW_MS } from '../../support/clocks.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { NO_PROBES } from '../../support/no-probes.ts';
import { runCommand } from '../../support/run-command.ts';
import { startCommand, startedServer } from '../running-command.ts';
import { stillClock, worldBefore } from '../served-world.ts';

const [tiny, small] = [worldBefore('tiny'), worldBefore('small')];
const UPSTREAM = { baseUrl: 'https://api.example.com/v1', apiKeyVariable: 'NOT_SET' };
let folder = '';

beforeEach(async () => {
  folder = await temporaryFolder();
});

// The data of the workspaces differ, so that a response shows from which one it is.
async function configureBoth(): Promise<void> {
  await configure('north', 'south');
  await addData('north', tiny().copy);
  await addData('south', small().copy);
}

function configure(...names: readonly string[]): Promise<void> {
  const workspaces = Object.fromEntries(names.map((name) => [name, UPSTREAM]));
  return writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ workspaces }));
}

async function addData(workspace: string, copy: string): Promise<void> {
  await mkdir(join(folder, 'data', workspace), { recursive: true });
  await cp(copy, join(folder, 'data', workspace, 'analytics.duckdb'));
}

const folderOf = (workspace: string): string => join(folder, 'data', workspace);

const makeKey = async (workspace: string, at = folderOf(workspace)): Promise<string> =>
  (await createKey(at, `of ${workspace}`, null, NOW_MS)).text;

const flagsOf = (flags: readonly string[]) => ['serve', '--role', 'api', '--json', '--port', '0', ...flags];

async function serve(flags: readonly string[] = [], cwd = folder) {
  const running = startCommand(flagsOf(flags), { cwd });
  const addresses = await startedServer(running, 'serve --role api');
  const get = (path: string, key: string) =>
    fetch(`${addresses.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return { ...running, ...addresses, get };
}

const idsOf = async (answer: Response): Promise<string[]> =>
  ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);

describe('serve --role api', () => {
  it('serves each key from its own workspace, including keys and workspaces added later', async () => {
    await configureBoth();
    const north = await makeKey('north');
    const server = await serve(['--metrics-port', '0']);
    expect(server).toMatchObject({ workspaces: 2, keys: 1 });
    const south = await makeKey('south');
    await until('the new key is found', async () => (await server.get('/brands', south)).status === 200);
    const answers = await Promise.all([north, south, north].map((key) => server.get('/brands', key)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [first, second, third] = await Promise.all(answers.map(idsOf));
    expect([first?.length, second?.length, third]).toEqual([1, 2, first]);
    for (const path of ['/readyz', '/v1/openapi.json', '/'])
      expect((await fetch(new URL(path, server.baseUrl))).status, path).toBe(200);

    await configure('north', 'south', 'west');
    const west = await makeKey('west');
    await until('the third workspace is served', async () => (await server.get('/brands', west)).status === 503);
    await addData('west', small().copy);
    expect(await idsOf(await server.get('/brands', west))).toEqual(second);

    const metrics = await (await fetch(server.metricsUrl ?? '')).text();
    expect(metrics).toContain('sightline_http_requests_total{route="/v1/brands",status="200"}');
    const { code, stderr } = await server.stop();
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('"workspace":"south"');
    expect(stderr).not.toContain('gsk_');
  });

  it('limits the number of open workspaces, and keeps rate limits of closed ones', async () => {
    await configureBoth();
    const keys = [await makeKey('north'), await makeKey('south')] as const;
    const server = await serve(['--open-workspaces', '1', '--rate-limit', '12']);
    for (let round = 0; round < 4; round++) {
      const answers = await Promise.all(keys.map((key) => server.get('/brands', key)));
      expect((await Promise.all(answers.map(idsOf))).map(({ length }) => length)).toEqual([1, 2]);
    }
    const statuses: number[] = [];
    for (let times = 0; times < 9; times++) statuses.push((await server.get('/brands', keys[0])).status);
    expect(statuses).toEqual([...Array<number>(8).fill(200), 429]);
    const { code, stderr } = await server.stop();
    expect(code, stderr).toBe(0);
  });

  it('serves workspaces that another machine saves in a home', async () => {
    const path = join(folder, 'home.duckdb');
    const destinations = { h: { kind: 'duckdb', path } };
    const jobs = { keep: { cron: '0 5 * * *', steps: ['retention'] } };
    const workspaces = { north: { ...UPSTREAM, apiKeyVariable: 'NORTH_KEY', home: 'h' } };
    const [writer, reader] = [join(folder, 'writer'), join(folder, 'reader')];
    for (const cwd of [writer, reader]) {
      await mkdir(cwd);
      await writeFile(join(cwd, 'sightline.config.json'), JSON.stringify({ destinations, jobs, workspaces }));
    }
    await cp(tiny().config.folder, join(writer, 'data/north'), { recursive: true, verbatimSymlinks: true });
    // A process that only reads has no key for upstream.
    const key = await makeKey('far', join(reader, 'data/north'));
    const { get, stop } = await serve(['--refresh', '1', '--rate-limit', 'off'], reader);
    expect((await get('/brands', key)).status).toBe(503);
    // Saves the data of the folder in the home.
    const env = { ...NO_PROBES, NORTH_KEY: 'gsk_unused' };
    const saved = await runCommand(['jobs', 'run', 'keep'], { cwd: writer, env, clock: stillClock });
    expect(saved.code, saved.stderr).toBe(0);
    await until('the saved version is served', async () => (await get('/brands', key)).status === 200);
    await writeFile(path, 'not a database');
    expect(await idsOf(await get('/brands', key))).toEqual([tiny().brandId]);
    const { code, stderr } = await stop();
    expect(code, stderr).toBe(0);
  });

  it('rejects invalid flags, and keeps running without a configuration file', async () => {
    for (const flags of [
      ['--workspace', 'north'],
      ['--open-workspaces', '0'],
      ['--refresh', 'soon'],
      ['--pages', 'loopback'],
    ])
      expectRefusal(
        await runCommand(
          flagsOf(flags).filter((flag) => flag !== '--json'),
          { cwd: folder },
        ),
        'usage',
        false,
      );
    await configureBoth();
    const south = await makeKey('south');
    const server = await serve(['--rate-limit', 'off']);
    expect((await server.get('/brands', south)).status).toBe(200);
    // Simulates an editor that is rewriting the file.
    const config = join(folder, 'sightline.config.json');
    const text = await readFile(config, 'utf8');
    await rm(config);
    await until('the missing file is logged', async () => {
      expect((await server.get('/brands', south)).status).toBe(200);
      return server.errorText().includes('no longer exists');
    });
    await writeFile(config, text);
    expect((await server.get('/brands', south)).status).toBe(200);
  });
});
