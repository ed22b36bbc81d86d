import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { layoutOf } from '../../../src/publish/snapshot/layout.ts';
import type { TableResult } from '../../../src/read/metrics/table-result.ts';
import { createKey, type KeyRights } from '../../../src/serve/auth/keys.ts';
import type { FleetRow } from '../../../src/web/page-data/fleet-row.ts';
import { until } from '../../cli/helpers.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { openFleetServer, workspacesIn } from '../fleet-server.ts';
import { type CloseLater, sharedBefore, stillClock, worldBefore } from '../served-world.ts';

const world = worldBefore();
const served = sharedBefore((closeLater) => serveFleet(closeLater));

/** Serves the workspaces `north` and `west`, which have data, and `south`, which has none. */
async function serveFleet(closeLater: CloseLater, openMax = 10) {
  const folder = await temporaryFolder(closeLater);
  const configs = await workspacesIn(folder, ['south', 'west', 'north']);
  for (const name of ['west', 'north']) await cp(world().copy, layoutOf(join(folder, name)).analytics);
  const keyOf = async (name: string, rights: KeyRights, at = folder): Promise<string> =>
    (await createKey(at, name, null, Date.now(), rights)).text;
  const keys = {
    all: await keyOf('all', { workspaces: 'all' }),
    some: await keyOf('some', { workspaces: ['west', 'south'] }),
    limited: await keyOf('limited', { workspaces: 'all', brands: [world().brandId] }),
    own: await keyOf('own', {}, join(folder, 'north')),
    sql: await keyOf('sql', { workspaces: 'all', scopes: ['read', 'sql'] }),
  };
  const app = join(folder, 'app');
  await mkdir(join(app, 'assets'), { recursive: true });
  await writeFile(
    join(app, 'index.html'),
    '<meta name="sightline-base" content=""><script src="./assets/a.js"></script>',
  );
  await writeFile(join(app, 'assets/a.js'), '1');
  const server = await openFleetServer(
    { openMax, fleetFolder: folder, app: pathToFileURL(`${app}/`), workspaces: () => configs },
    { clock: stillClock, closeLater },
  );
  const { origin } = new URL(server.baseUrl);
  const ask = (path: string, key = '', init: RequestInit = {}): Promise<Response> =>
    fetch(`${origin}${path}`, { ...init, headers: { ...(key === '' ? {} : { 'x-api-key': key }), ...init.headers } });
  const rowsOf = async (key: string): Promise<FleetRow[]> => {
    let rows: FleetRow[] = [];
    await until('all replicas are read', async () => {
      rows = ((await (await ask('/data/fleet', key)).json()) as { workspaces: FleetRow[] }).workspaces;
      return rows.every(({ isPending }) => !isPending);
    });
    return rows;
  };
  return { ...server, configs, origin, apiKeys: keys, ask, rowsOf };
}

describe('the list of workspaces', () => {
  it('has a row for each workspace that the key opens, the most urgent first', async () => {
    const fleet = served();
    const { all, some } = fleet.apiKeys;
    const rows = await fleet.rowsOf(all);
    expect(rows.map(({ workspace }) => workspace).sort()).toEqual(['north', 'south', 'west']);
    const urgency = ['problem', 'attention', 'busy', 'good'];
    const levels = rows.map(({ level }) => urgency.indexOf(level));
    expect(levels).toEqual(levels.toSorted());
    const south = rows.find(({ workspace }) => workspace === 'south');
    expect(south).toMatchObject({
      level: 'attention',
      sentence: 'No data synced yet.',
      syncedAt: null,
      visibility: null,
    });
    const north = rows.find(({ workspace }) => workspace === 'north');
    expect(north).toMatchObject({
      brands: 1,
      syncedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      nextJob: { name: expect.any(String), at: expect.any(String) },
      sync: null,
    });
    // The same numbers as on the pages of the workspace.
    const metrics = await fleet.ask('/w/north/data/metrics?metrics=visibility', all);
    const table = (await metrics.json()) as TableResult;
    expect(north?.completeTo).toBe(table.completeTo);
    expect(north?.visibility).toEqual(
      Object.fromEntries(table.columns.map(({ name }, at) => [name, table.rows[0]?.[at]])),
    );
    expect((await fleet.rowsOf(some)).map(({ workspace }) => workspace).sort()).toEqual(['south', 'west']);
  });

  it('needs a key, hides numbers from keys of some brands, and is 304 while nothing changes', async () => {
    const fleet = served();
    expect((await fleet.ask('/data/fleet')).status).toBe(401);
    expect((await fleet.ask('/data/fleet', 'gsk_wrong')).status).toBe(401);
    const { all, own, limited } = fleet.apiKeys;
    expect((await fleet.rowsOf(own)).map(({ workspace }) => workspace)).toEqual(['north']);
    for (const { brands, visibility } of await fleet.rowsOf(limited))
      expect([brands, visibility]).toEqual([null, null]);
    await fleet.rowsOf(all);
    const tag = (await fleet.ask('/data/fleet', all)).headers.get('etag') ?? '';
    const again = await fleet.ask('/data/fleet', all, { headers: { 'if-none-match': tag } });
    expect(again.status).toBe(304);
  });

  it('reads a workspace again when its replica is replaced, and shows one that cannot be read as a problem', async () => {
    const fleet = await serveFleet(onTestFinished, 1);
    const { all } = fleet.apiKeys;
    await fleet.rowsOf(all);
    const copy = (name: string) => layoutOf(fleet.configs.get(name)?.folder ?? '').analytics;
    await cp(world().copy, copy('south'));
    await rm(copy('west'));
    await writeFile(copy('west'), 'not a database');
    await until('the new replica is read', async () => {
      const south = (await fleet.rowsOf(all)).find(({ workspace }) => workspace === 'south');
      return south?.brands === 1;
    });
    const [first] = await fleet.rowsOf(all);
    expect(first).toMatchObject({ workspace: 'west', level: 'problem', brands: null });
    // The list opens no workspace for requests.
    expect(fleet.open()).toEqual([]);
  });
});

describe('the pages of several workspaces', () => {
  it('have a document with the prefix of the workspace, with and without a key', async () => {
    const fleet = served();
    const { all, own } = fleet.apiKeys;
    for (const key of ['', all, own]) {
      for (const [path, base] of [
        ['/', ''],
        ['/prompts', ''],
        ['/w/north', '/w/north'],
        ['/w/north/', '/w/north'],
        ['/w/north/prompts/3f2b1c9e-0000-4000-8000-000000000001', '/w/north'],
        ['/w/nobody/sql', '/w/nobody'],
      ] as const) {
        const response = await fleet.ask(path, key);
        expect(response.status, path).toBe(200);
        expect(await response.text(), path).toBe(
          `<meta name="sightline-base" content="${base}"><script src="/assets/a.js"></script>`,
        );
      }
      expect((await fleet.ask('/assets/a.js', key)).status).toBe(200);
      expect((await fleet.ask('/w/north/assets/a.js', key)).status).toBe(200);
    }
    expect((await fleet.ask('/w/%22%3E%3Cscript%3E/prompts')).status).toBe(404);
  });

  it('have data only for keys that open the workspace', async () => {
    const fleet = served();
    const { all, own } = fleet.apiKeys;
    for (const path of [
      '/data/queries/brands',
      '/data/metrics?metrics=visibility',
      '/status/data',
      '/v1/brands',
      '/data/reports',
    ]) {
      expect((await fleet.ask(`/w/north${path}`, all)).status, path).toBe(200);
      expect((await fleet.ask(`/w/north${path}`, own)).status, path).toBe(200);
      expect((await fleet.ask(`/w/north${path}`)).status, path).toBe(401);
      expect((await fleet.ask(`/w/west${path}`, own)).status, path).toBe(404);
      expect((await fleet.ask(`/w/nobody${path}`, all)).status, path).toBe(404);
    }
    // Without a prefix, a key of one workspace selects it.
    expect((await fleet.ask('/data/queries/brands', own)).status).toBe(200);
    expect((await fleet.ask('/w/south/data/queries/brands', all)).status).toBe(503);
  });

  it('run SQL on the data of their workspace only, for keys with the scope', async () => {
    const fleet = served();
    const { all, sql } = fleet.apiKeys;
    const folder = fleet.configs.get('north')?.folder ?? '';
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ sql: 'SELECT count(*) FROM brands' });
    const ask = (workspace: string, key: string): Promise<Response> =>
      fleet.ask(`/w/${workspace}/data/sql`, key, { method: 'POST', headers, body });
    expect(await (await ask('north', sql)).json()).toMatchObject({ rows: [[1]] });
    expect((await ask('south', sql)).status).toBe(503);
    expect((await ask('nobody', sql)).status).toBe(404);
    expect((await ask('north', all)).status).toBe(403);
    const saved = await fleet.ask('/w/north/data/sql/saved/weekly', sql, {
      method: 'PUT',
      headers: { ...headers, 'if-none-match': '*' },
      body: JSON.stringify({ sql: 'SELECT 1' }),
    });
    expect(saved.status).toBe(200);
    expect(await readFile(join(layoutOf(folder).queries, 'weekly.sql'), 'utf8')).toBe('SELECT 1');
  });
});
