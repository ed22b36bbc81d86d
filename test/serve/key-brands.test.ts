import { copyFile, mkdir } from 'node:fs/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { createKey, type KeyRights } from '../../src/serve/auth/keys.ts';
import { dataTools } from '../../src/serve/mcp/data-tools/data-tools.ts';
import { builtInCatalogue as catalogue } from '../../src/session/catalogues.ts';
import { layoutOf } from '../../src/snapshot/layout.ts';
import { temporaryFolder } from '../support/folders.ts';
import { serveStatus } from '../web/support.ts';
import { openServer, publishBefore, type TestServer } from './http/support.ts';

const published = publishBefore(3);

/** The brands of the workspace: the one that the key may read, and two others. */
function brands() {
  const [own, other, third] = published().sandbox.world.brands;
  if (own === undefined || other === undefined || third === undefined) throw new Error('three brands are needed');
  return { own, other, third };
}

/** Requests a path below /v1 with a new key of these rights. */
async function openLimited(rights: KeyRights) {
  const server = await openServer(published().copy);
  const { text } = await createKey(server.folder, 'limited', null, Date.now(), rights);
  const get = (path: string, headers: Record<string, string> = {}) =>
    server.get(path, { headers: { 'x-api-key': text, ...headers } });
  return { server, text, get };
}

async function connect({ mcpUrl }: TestServer, key: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit: { headers } }));
  return client;
}

/** A text as it is in JSON, without the quotes. */
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

const dataOf = async (response: Response): Promise<{ id: string }[]> =>
  ((await response.json()) as { data: { id: string }[] }).data;

describe('a key limited to a brand', () => {
  const ofBrand = catalogue.resources.filter(({ path }) => path.includes('{brandId}'));

  it('gets 404 for another brand at every address of the API, as for a brand that does not exist', async () => {
    const { own, other } = brands();
    const { get } = await openLimited({ brands: [own.id] });
    const nobody = '00000000-0000-4000-8000-000000000000';
    const pathOf = (path: string, brandId: string): string =>
      path.replace('{brandId}', brandId).replace(/\{\w+\}/, nobody);
    expect(ofBrand.length).toBeGreaterThan(14);
    for (const { path } of ofBrand) {
      const foreign = await get(pathOf(path, other.id));
      const missing = await get(pathOf(path, nobody));
      expect([foreign.status, missing.status], path).toEqual([404, 404]);
      const textOf = async (response: Response): Promise<string> =>
        (await response.text())
          .replaceAll(other.id, 'ID')
          .replaceAll(nobody, 'ID')
          .replace(/"requestId":"[^"]*"/, '');
      expect(await textOf(foreign), path).toBe(await textOf(missing));
      expect((await get(pathOf(path, other.id.toUpperCase()))).status, path).toBe(404);
    }
    const open = ofBrand.filter(({ path }) => !/\{(?!brandId)/.test(path));
    for (const { path } of open) expect((await get(pathOf(path, own.id))).status, path).toBe(200);
  });

  it('sees only its brand in the list of brands, in every format, even directly after a request with another key', async () => {
    const { own, other } = brands();
    const { server, get } = await openLimited({ brands: [own.id] });
    for (const accept of ['application/json', 'text/csv', 'application/x-ndjson']) {
      const all = await server.get('/brands', { headers: { accept } });
      const body = await all.text();
      expect(body, accept).toContain(other.id);
      const tag = all.headers.get('etag') ?? '';
      const limited = await get('/brands', { accept, 'if-none-match': tag });
      expect(limited.status, accept).toBe(200);
      expect(limited.headers.get('etag'), accept).not.toBe(tag);
      const shown = await limited.text();
      expect(shown, accept).toContain(own.id);
      expect(shown, accept).not.toContain(other.id);
      expect(await (await server.get('/brands', { headers: { accept } })).text(), accept).toBe(body);
    }
    const parquet = Buffer.from(
      await (await get('/brands', { accept: 'application/vnd.apache.parquet' })).arrayBuffer(),
    );
    expect(parquet.includes(own.name)).toBe(true);
    expect(parquet.includes(other.name)).toBe(false);
  });

  it('reads nothing of another brand with its ids as filters, or with a cursor of another key', async () => {
    const { own, other } = brands();
    const { server, get } = await openLimited({ brands: [own.id] });
    const [prompt] = await dataOf(await server.get(`/brands/${other.id}/prompts`));
    const [competitor] = await dataOf(await server.get(`/brands/${other.id}/competitors`));
    expect(prompt?.id).toBeDefined();
    const responses = await get(`/brands/${own.id}/responses?promptId=${prompt?.id}`);
    expect(await dataOf(responses)).toEqual([]);
    const sources = await get(`/brands/${own.id}/metrics/prompts?promptId=${prompt?.id}`);
    expect(JSON.stringify(await sources.json())).not.toContain(prompt?.id ?? '');
    const metrics = await get(`/brands/${own.id}/metrics?competitorId=${competitor?.id}`);
    expect(JSON.stringify(await metrics.json())).not.toContain(competitor?.id ?? '');
    const page = (await (await server.get(`/brands/${other.id}/responses?limit=2`)).json()) as { nextCursor: string };
    expect((await get(`/brands/${own.id}/responses?limit=2&cursor=${page.nextCursor}`)).status).toBe(400);
    expect((await get(`/brands/${other.id}/responses?limit=2&cursor=${page.nextCursor}`)).status).toBe(404);
    const [article] = await dataOf(await server.get(`/brands/${other.id}/articles`));
    expect((await get(`/brands/${own.id}/articles/${article?.id}`)).status).toBe(404);
    expect((await server.get(`/brands/${other.id}/articles/${article?.id}`)).status).toBe(200);
  });

  it('gets no snapshots, which contain all brands', async () => {
    const { own } = brands();
    const { server, text } = await openLimited({ brands: [own.id] });
    const response = await fetch(new URL('/snapshots', server.baseUrl), { headers: { 'x-api-key': text } });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ error: { code: 'forbidden' } });
  });

  it('can be limited to several brands, by id or by exact name', async () => {
    const { own, other, third } = brands();
    const idsOf = async (rights: KeyRights): Promise<string[]> => {
      const { get } = await openLimited(rights);
      return (await dataOf(await get('/brands'))).map(({ id }) => id).sort();
    };
    expect(await idsOf({ brands: [own.id.toUpperCase(), third.name] })).toEqual([own.id, third.id].sort());
    expect(await idsOf({ brands: [other.name.toUpperCase(), `${other.name} `, other.name.slice(0, 3)] })).toEqual([]);
    expect(await idsOf({ brands: null })).toEqual([own.id, other.id, third.id].sort());
  });

  it('reads only its brand over MCP: by id, by name, in lists and in error messages', async () => {
    const { own, other, third } = brands();
    const { server, text } = await openLimited({ brands: [own.id] });
    const all = await connect(server, server.key);
    const client = await connect(server, text);
    const call = async (from: Client, name: string, given: Record<string, unknown>) => {
      const result = await from.callTool({ name, arguments: given });
      return { isError: result.isError === true, text: JSON.stringify(result) };
    };
    const listed = await call(client, 'list_brands', {});
    expect(listed.text).toContain(own.id);
    for (const brand of [other, third]) {
      expect((await call(all, 'list_brands', {})).text).toContain(brand.id);
      expect(listed.text).not.toContain(brand.id);
      expect(listed.text).not.toContain(brand.name);
    }
    const { tools } = await client.listTools();
    const ofBrandTools = tools.filter(({ inputSchema }) =>
      Object.keys(inputSchema.properties ?? {}).includes('brandId'),
    );
    expect(ofBrandTools.length).toBeGreaterThan(14);
    for (const { name, inputSchema } of ofBrandTools) {
      const others = (inputSchema.required ?? []).filter((parameter) => parameter !== 'brandId');
      const more = Object.fromEntries(others.map((parameter) => [parameter, other.id]));
      for (const brandId of [other.id, other.name]) {
        const { isError, text: shown } = await call(client, name, { ...more, brandId });
        expect(isError, `${name} ${brandId}`).toBe(true);
        expect(shown, name).toMatch(/does not exist/);
        expect(shown, name).not.toContain(third.name);
      }
    }
    expect((await call(client, 'list_prompts', { brandId: own.name })).isError).toBe(false);
    expect((await call(all, 'list_prompts', { brandId: other.name })).isError).toBe(false);
    const { resources } = await client.listResources();
    for (const { uri } of resources) {
      const read = JSON.stringify(await client.readResource({ uri }));
      for (const { id } of [other, third]) expect(read, uri).not.toContain(id);
    }
    await Promise.all([client.close(), all.close()]);
  });
});

describe('the data of the pages', () => {
  /** A server with pages over a copy of the replica; `ask` requests a path with a key limited to a brand, `all` with one that is not. */
  async function openPages() {
    const config = loadConfig({ flags: {}, environment: {}, folder: await temporaryFolder() });
    await mkdir(config.folder, { recursive: true });
    await copyFile(published().copy, layoutOf(config.folder).analytics);
    const server = await serveStatus({ config, key: '' });
    const asker = async (name: string, rights: KeyRights) => {
      const { text } = await createKey(config.folder, name, null, Date.now(), rights);
      return (path: string, headers: Record<string, string> = {}) =>
        server.ask(path, { authorization: `Bearer ${text}`, ...headers });
    };
    return { ask: await asker('limited', { brands: [brands().own.id] }), all: await asker('all', {}), asker };
  }

  it('have only the brands of the key: in queries, metrics and their caches', async () => {
    const { own, other, third } = brands();
    const { ask, all } = await openPages();
    const values = ['brand', 'entity'].map((dimension) => `/data/metrics/values?dimension=${dimension}`);
    for (const path of ['/data/queries/brands', '/data/metrics?metrics=visibility&group_by=brand', ...values]) {
      const complete = await all(path);
      expect(complete.status, path).toBe(200);
      expect(await complete.text(), path).toContain(inJson(other.name));
      const tag = complete.headers.get('etag') ?? '';
      const limited = await ask(path, { 'if-none-match': tag });
      expect(limited.status, path).toBe(200);
      const text = await limited.text();
      expect(text, path).toContain(own.name);
      for (const { id, name } of [other, third]) {
        expect(text, path).not.toContain(id);
        expect(text, path).not.toContain(inJson(name));
      }
    }
    for (const brand of [other.id, other.id.toUpperCase(), other.name, third.id, third.name]) {
      const path = `/data/metrics?metrics=visibility&brand=${encodeURIComponent(brand)}`;
      expect((await all(path)).status, path).toBe(200);
      const refused = await ask(path);
      expect(refused.status, path).toBe(400);
      const { error } = (await refused.json()) as { error: { allowed: string } };
      for (const { name } of [other, third]) expect(error.allowed, path).not.toContain(name);
    }
    for (const path of ['/data/explain?metric=visibility', '/data/opportunities']) {
      // The limited key has one brand, so it needs no parameter.
      expect([(await all(path)).status, (await ask(path)).status], path).toEqual([400, 200]);
      const refused = await ask(`${path}${path.includes('?') ? '&' : '?'}brand=${other.id}`);
      expect(refused.status, path).toBe(400);
    }
    const history = async (get: typeof all): Promise<string> => (await get('/data/changes?since=365d')).text();
    expect(await history(all)).toContain(other.id);
    for (const { id } of [other, third]) expect(await history(ask)).not.toContain(id);
    for (const path of ['/status/data', '/data/reports', '/reports/']) {
      expect([(await all(path)).status, (await ask(path)).status], path).toEqual([200, 403]);
    }
  });

  it('need the scope metrics', async () => {
    const { asker } = await openPages();
    const ask = await asker('reader', { scopes: ['read', 'sql', 'snapshots'] });
    for (const path of [
      '/data/queries',
      '/data/queries/brands',
      '/data/metrics?metrics=visibility',
      '/data/changes',
      '/status/data',
    ]) {
      expect((await ask(path)).status, path).toBe(403);
    }
  });
});

describe('the scopes of a key', () => {
  it('are read, metrics and snapshots by default', async () => {
    const { server, get } = await openLimited({});
    expect((await get('/brands')).status).toBe(200);
    const { key } = await createKey(server.folder, 'default', null, Date.now());
    expect(key).toMatchObject({ scopes: ['read', 'metrics', 'snapshots'], brands: null, workspaces: null });
  });

  it('limit the API to read, and snapshots to snapshots', async () => {
    for (const [scopes, api, snapshots] of [
      [['read'], 200, 403],
      [['snapshots'], 403, 200],
      [['metrics'], 403, 403],
      [['sql'], 403, 403],
    ] as const) {
      const { server, text, get } = await openLimited({ scopes });
      const brandsOf = await get('/brands');
      expect(brandsOf.status, scopes[0]).toBe(api);
      if (api === 403)
        expect(await brandsOf.json()).toMatchObject({ error: { message: 'The key lacks the scope read.' } });
      const list = await fetch(new URL('/snapshots', server.baseUrl), { headers: { 'x-api-key': text } });
      expect(list.status, scopes[0]).toBe(snapshots);
    }
  });

  it('hide the tools of MCP that read the API', async () => {
    const { server, text } = await openLimited({ scopes: ['metrics'] });
    const client = await connect(server, text);
    const metricsTools = dataTools.filter(({ scope }) => scope === 'metrics').map(({ name }) => name);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(metricsTools);
    const result = await client.callTool({ name: 'list_brands', arguments: {} });
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain('the key lacks the scope read');
    await client.close();
    const none = await openLimited({ scopes: ['snapshots'] });
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const refused = await fetch(none.server.mcpUrl, {
      method: 'POST',
      headers: {
        'x-api-key': none.text,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(body),
    });
    expect(refused.status).toBe(403);
  });
});
