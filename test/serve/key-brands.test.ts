import { describe, expect, it } from 'vitest';
import { createKey, type KeyRights, listKeys, revokeKey } from '../../src/serve/auth/keys.ts';
import { builtInCatalogue as catalogue } from '../../src/workspace/catalogues.ts';
import { serverBefore } from './http/support.ts';
import { post } from './mcp/support.ts';
import { openCopy, serveWorld, sharedBefore, type WorldBrand } from './served-world.ts';

const NOBODY = '00000000-0000-4000-8000-000000000000';

type Ask = (path: string, headers?: Record<string, string>) => Promise<Response>;

const server = serverBefore({}, 'small');
/** The brand that the limited keys may read, and the other one. */
const brands = () => {
  const [own, other] = server().brands as [WorldBrand, WorldBrand];
  return { own, other };
};

/** Creates a key of the server and returns it, with a function that requests a path below /v1 with it. A server has at most 10 keys. */
async function keyOf(rights: KeyRights, name = 'temporary') {
  if (listKeys(server().folder).some((key) => key.name === name)) await revokeKey(server().folder, name);
  const { text } = await createKey(server().folder, name, null, Date.now(), rights);
  const get: Ask = (path, headers = {}) => server().get(path, { headers: { 'x-api-key': text, ...headers } });
  return { text, get };
}

const limited = sharedBefore(() => keyOf({ brands: [brands().own.id] }, 'limited'));

/** A text as it is in JSON, without the quotes. */
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

const dataOf = async (response: Response): Promise<{ id: string }[]> =>
  ((await response.json()) as { data: { id: string }[] }).data;

describe('a key limited to a brand', () => {
  it('gets 404 for another brand at every address of the API, as for a brand that does not exist', async () => {
    const { own, other } = brands();
    const { get } = limited();
    const ofBrand = catalogue.resources.filter(({ path }) => path.includes('{brandId}'));
    expect(ofBrand.length).toBeGreaterThan(14);
    const textOf = async (response: Response): Promise<string> =>
      (await response.text())
        .replaceAll(other.id, 'ID')
        .replaceAll(NOBODY, 'ID')
        .replace(/"requestId":"[^"]*"/, '');
    for (const { path } of ofBrand) {
      const of = (brandId: string) => get(path.replace('{brandId}', brandId).replace(/\{\w+\}/, NOBODY));
      const [foreign, missing] = [await of(other.id), await of(NOBODY)];
      expect([foreign.status, missing.status], path).toEqual([404, 404]);
      expect(await textOf(foreign), path).toBe(await textOf(missing));
      expect((await of(other.id.toUpperCase())).status, path).toBe(404);
      if (!/\{(?!brandId)/.test(path)) expect((await of(own.id)).status, path).toBe(200);
    }
  });

  it('sees only its brand in the list of brands, in every format, even directly after a request with another key', async () => {
    const { own, other } = brands();
    const { get } = limited();
    for (const accept of ['application/json', 'text/csv', 'application/x-ndjson']) {
      const complete = () => server().get('/brands', { headers: { accept } });
      const all = await complete();
      const body = await all.text();
      expect(body, accept).toContain(other.id);
      const tag = all.headers.get('etag') ?? '';
      const own200 = await get('/brands', { accept, 'if-none-match': tag });
      expect([own200.status, own200.headers.get('etag') === tag], accept).toEqual([200, false]);
      const shown = await own200.text();
      expect(shown, accept).toContain(own.id);
      expect(shown, accept).not.toContain(other.id);
      expect(await (await complete()).text(), accept).toBe(body);
    }
    const parquet = await get('/brands', { accept: 'application/vnd.apache.parquet' });
    const bytes = Buffer.from(await parquet.arrayBuffer());
    expect([bytes.includes(own.name), bytes.includes(other.name)]).toEqual([true, false]);
  });

  it('reads nothing of another brand with its ids as filters, or with a cursor of another key', async () => {
    const { own, other } = brands();
    const { get } = limited();
    const all = server().get;
    const firstId = async (list: string) => (await dataOf(await all(`/brands/${other.id}/${list}`)))[0]?.id ?? '';
    const [prompt, competitor] = [await firstId('prompts'), await firstId('competitors')];
    expect(prompt).not.toBe('');
    expect(await dataOf(await get(`/brands/${own.id}/responses?promptId=${prompt}`))).toEqual([]);
    const sources = await get(`/brands/${own.id}/metrics/prompts?promptId=${prompt}`);
    expect(await sources.text()).not.toContain(prompt);
    const metrics = await get(`/brands/${own.id}/metrics?competitorId=${competitor}`);
    expect(await metrics.text()).not.toContain(competitor);
    const page = (await (await all(`/brands/${other.id}/responses?limit=2`)).json()) as { nextCursor: string };
    const next = `responses?limit=2&cursor=${page.nextCursor}`;
    expect((await get(`/brands/${own.id}/${next}`)).status).toBe(400);
    expect((await get(`/brands/${other.id}/${next}`)).status).toBe(404);
    const article = await firstId('articles');
    expect((await get(`/brands/${own.id}/articles/${article}`)).status).toBe(404);
    expect((await all(`/brands/${other.id}/articles/${article}`)).status).toBe(200);
  });

  it('can be limited to several brands, by id or by exact name', async () => {
    const { own, other } = brands();
    const idsOf = async (names: string[] | null): Promise<string[]> =>
      (await dataOf(await (await keyOf({ brands: names })).get('/brands'))).map(({ id }) => id).sort();
    const both = [own.id, other.id].sort();
    expect(await idsOf([own.id.toUpperCase(), other.name])).toEqual(both);
    expect(await idsOf([other.name])).toEqual([other.id]);
    expect(await idsOf([other.name.toUpperCase(), `${other.name} `, other.name.slice(0, 3)])).toEqual([]);
    expect(await idsOf(null)).toEqual(both);
  });
});

describe('the data of the pages', () => {
  /** Keys of a server with pages: `limited` to the own brand, `all` without a limit. */
  const pages = sharedBefore(async (closeLater) => {
    const { config } = await openCopy('small', closeLater);
    const { close, baseUrl } = await serveWorld(config);
    closeLater(close);
    const asker = async (name: string, rights: KeyRights): Promise<Ask> => {
      const { text } = await createKey(config.folder, name, null, Date.now(), rights);
      return (path, headers = {}) =>
        fetch(new URL(path, baseUrl), { headers: { authorization: `Bearer ${text}`, ...headers } });
    };
    const reader = await asker('reader', { scopes: ['read', 'sql', 'snapshots'] });
    const gone = await asker('gone', { brands: [NOBODY] });
    const viewer = await asker('viewer', { scopes: ['metrics'] });
    const ask = await asker('limited', { brands: [brands().own.id] });
    return { ask, all: await asker('all', {}), reader, viewer, gone };
  });

  it('have only the brands of the key: in queries, metrics and their caches', async () => {
    const { own, other } = brands();
    const { ask, all } = pages();
    for (const path of ['/data/queries/brands', '/data/metrics/values?dimension=brand']) {
      const complete = await all(path);
      expect(complete.status, path).toBe(200);
      expect(await complete.text(), path).toContain(inJson(other.name));
      const response = await ask(path, { 'if-none-match': complete.headers.get('etag') ?? '' });
      expect(response.status, path).toBe(200);
      const text = await response.text();
      expect(text, path).toContain(own.name);
      for (const secret of [other.id, inJson(other.name)]) expect(text, path).not.toContain(secret);
    }
    for (const brand of [other.id.toUpperCase(), other.name]) {
      const path = `/data/metrics?metrics=visibility&brand=${encodeURIComponent(brand)}`;
      const [complete, refused] = [await all(path), await ask(path)];
      expect([complete.status, refused.status], path).toEqual([200, 400]);
      const { error } = (await refused.json()) as { error: { allowed: string } };
      expect(error.allowed, path).not.toContain(other.name);
    }
    for (const path of ['/status/data', '/data/reports', '/snapshots']) {
      expect([(await all(path)).status, (await ask(path)).status], path).toEqual([200, 403]);
    }
    const report = '/reports/none.html';
    expect([(await all(report)).status, (await ask(report)).status]).toEqual([404, 403]);
  });

  it('are forbidden for a key whose brands are gone, which monitors must not read as an outage', async () => {
    for (const path of [
      '/data/queries/brands',
      '/data/metrics?metrics=visibility',
      '/data/changes',
      '/data/opportunities',
    ])
      expect((await pages().gone(path)).status, path).toBe(403);
  });

  it('need the scope metrics', async () => {
    const metrics = '/data/metrics?metrics=visibility';
    // The list of reports links to their files, so both need the same.
    const files = ['/data/reports', '/reports/none.html'];
    expect(await Promise.all(files.map(async (path) => (await pages().viewer(path)).status))).toEqual([200, 404]);
    for (const path of ['/data/queries', '/data/queries/brands', metrics, '/data/changes', '/status/data', ...files])
      expect((await pages().reader(path)).status, path).toBe(403);
  });
});

describe('the scopes of a key', () => {
  it('are read, metrics and snapshots by default', async () => {
    const { key } = await createKey(server().folder, 'default', null, Date.now());
    expect(key).toMatchObject({ scopes: ['read', 'metrics', 'snapshots'], brands: null, workspaces: null });
  });

  it.each([
    ['read', { api: 200, snapshots: 403, mcp: 200 }],
    ['snapshots', { api: 403, snapshots: 200, mcp: 403 }],
    ['metrics', { api: 403, snapshots: 403, mcp: 200 }],
    ['sql', { api: 403, snapshots: 403, mcp: 200 }],
  ] as const)('limit a key with the scope %s', async (scope, expected) => {
    const { text, get } = await keyOf({ scopes: [scope] });
    const { origin, mcpUrl } = server();
    const headers = { 'x-api-key': text };
    const [api, list] = [await get('/brands'), await fetch(`${origin}/snapshots`, { headers })];
    const mcp = await post(mcpUrl, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers);
    expect({ api: api.status, snapshots: list.status, mcp: mcp.status }).toEqual(expected);
    if (api.status === 403)
      expect(await api.json()).toMatchObject({ error: { message: 'The key lacks the scope read.' } });
  });
});
