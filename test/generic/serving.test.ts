import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { request as createRequest } from 'node:http';
import { dirname } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { exportWorkspace } from '../../src/operations/export.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { createKey } from '../../src/serve/auth/keys.ts';
import { openService } from '../../src/serve/open-service.ts';
import { serveWorkspace } from '../../src/serve/serve-workspace.ts';
import type { KeyedServer } from '../../src/serve/start-serving.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { openFleetServer } from '../serve/fleet-server.ts';
import { NOW_MS } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { runCommand } from '../support/run-command.ts';
import { canonical, type Json, type JsonObject, parseExactly } from './exact-json.ts';
import { type GenericMirror, openGenericMirror } from './generic-mirror.ts';
import type { Answer } from './paging.ts';
import { drawFrom } from './shape-random.ts';
import { readAllPages, type Shape } from './shape.ts';
import { shapes } from './shapes.ts';
import { startUpstream, type Upstream, type UpstreamList } from './upstream.ts';

const paths = [
  '/brands/{brandId}/labels',
  '/brands/{brandId}/notes',
  '/brands/{brandId}/audits',
  '/brands/{brandId}/mentions',
  '/page_rules',
  '/brands/{brandId}/posts',
  '/brands/{brandId}/log-lines',
  '/brands/{brandId}/campaigns',
  '/brands/{brandId}/campaigns/{campaignId}/ad-groups',
  '/brands/{brandId}/stores',
  '/brands/{brandId}/leaderboards',
  '/brands/{brandId}/uptime',
  '/brands/{brandId}/settings',
];
const chosen = paths.map((path) => shapes.find((shape) => shape.path === path) as Shape);
const lists = chosen.filter(({ isObject }) => isObject !== true);

let upstream: Upstream;
let mirror: GenericMirror;
let server: KeyedServer;
let key: string;

beforeAll(async () => {
  upstream = await startUpstream({ shapes: chosen, nowMs: NOW_MS, brands: 2 });
  mirror = await openGenericMirror(upstream, NOW_MS);
  await mirror.sync();
  key = (await createKey(mirror.context.config.folder, 'test', null, NOW_MS)).text;
  server = await serveWorkspace(mirror.context, {
    host: '127.0.0.1',
    port: 0,
    metricsPort: null,
    rateLimit: 'off',
    corsOrigins: [],
    allowedHosts: [],
    logLevel: 'silent',
    queryTimeoutMs: 30_000,
    pages: 'key',
    runsJobs: false,
    log: () => undefined,
  });
});

afterAll(async () => {
  await server?.close();
  await mirror?.close();
  await upstream?.close();
});

async function get(path: string, query: URLSearchParams | string = '', accept = 'application/json', as = key) {
  const response = await fetch(`${server.baseUrl}${path}?${query}`, { headers: { 'x-api-key': as, accept } });
  const text = await response.text();
  return { status: response.status, headers: Object.fromEntries(response.headers), text };
}

async function answerOf(path: string, query: URLSearchParams): Promise<Answer> {
  const { status, headers, text } = await get(path, query);
  expect([path, String(query), status, status === 200 ? '' : text]).toEqual([path, String(query), 200, '']);
  return { body: parseExactly(text), headers };
}

async function fromUpstream({ path }: UpstreamList, query: URLSearchParams): Promise<Answer> {
  const headers = { 'x-api-key': upstream.sandbox.key };
  const response = await fetch(`${upstream.baseUrl}${path}?${query}`, { headers });
  return { body: parseExactly(await response.text()), headers: Object.fromEntries(response.headers) };
}

function sizeOf({ paging }: Shape): string | undefined {
  return paging.parameters.find(({ schema }) => (schema as JsonObject)['maximum'] !== undefined)?.['name'] as string;
}

function presentLists(shape: Shape): UpstreamList[] {
  return upstream.lists(shape).filter(({ items }) => items !== null);
}

test.each(lists.map((shape) => [shape.title, shape] as const))(
  '%s: complete and in pages, in the order and envelope of upstream',
  async (_title, shape) => {
    for (const list of presentLists(shape)) {
      const served = await answerOf(list.path, new URLSearchParams(list.query));
      expect(texts(shape.envelope.itemsOf(served.body)), list.path).toEqual(texts(list.items));
      expect(served.headers['x-data-coverage'], list.path).toBe('complete');
    }
    const [list] = presentLists(shape) as [UpstreamList];
    const size = sizeOf(shape);
    const query = new URLSearchParams({ ...list.query, ...(size === undefined ? {} : { [size]: '5' }) });
    const served = await readAllPages(shape, query, (next) => answerOf(list.path, next));
    expect(served.map(canonical), list.path).toEqual(texts(list.items));
    const [own, other] = [await answerOf(list.path, query), await fromUpstream(list, query)];
    expect(formOf(own.body)).toEqual(formOf(other.body));
  },
);

function listOf(path: string): UpstreamList {
  const shape = chosen.find((one) => one.path.endsWith(path)) as Shape;
  return presentLists(shape)[0] as UpstreamList;
}

async function itemsOf(list: UpstreamList, query: URLSearchParams | string = ''): Promise<readonly Json[]> {
  const parameters = new URLSearchParams({ ...list.query, ...Object.fromEntries(new URLSearchParams(query)) });
  return list.shape.envelope.itemsOf((await answerOf(list.path, parameters)).body);
}

const texts = (items: readonly Json[] | null): string[] => (items ?? []).map((item) => canonical(item));

test('an object is the body', async () => {
  const list = listOf('/settings');
  expect(canonical((await answerOf(list.path, new URLSearchParams())).body)).toBe(texts(list.items)[0]);
});

test('filters, ranges and pages select the items that upstream selects', async () => {
  const asked: [path: string, query: string][] = [
    ['/notes', 'state=open'],
    ['/mentions', 'state=closed&limit=20'],
    ['/uptime', 'from=2026-03-01&to=2026-03-07'],
    ['/leaderboards', 'period=month'],
  ];
  for (const [path, query] of asked) {
    const list = listOf(path);
    const { body } = await fromUpstream(list, new URLSearchParams(query));
    expect([path, query, texts(await itemsOf(list, query))]).toEqual([
      path,
      query,
      texts(list.shape.envelope.itemsOf(body)),
    ]);
  }
});

test('requests that upstream or the mirror cannot answer are rejected with the parameter and what is allowed', async () => {
  const [{ path: notes, brandId }, { path: mentions }] = [listOf('/notes'), listOf('/mentions')];
  const unknown = '00000000-0000-4000-8000-000000000000';
  const requests: [path: string, query: string, status: number, text: RegExp][] = [
    [notes, 'color=red', 400, /one of state/],
    [mentions, 'page=2', 400, /one of limit, cursor/],
    [mentions, 'limit=5&cursor=wrong', 400, /cursor must be/],
    [listOf('/leaderboards').path, '', 400, /period must be one of week, month, quarter/],
    [listOf('/uptime').path, 'from=tomorrow', 400, /from must be a calendar day/],
    [`/brands/${unknown}/notes`, '', 404, /brand/],
    [`/brands/${brandId}/campaigns/${unknown}/ad-groups`, '', 404, /campaign/],
    [`/brands/${upstream.sandbox.world.brands[1]?.id}/stores`, '', 404, /upstream does not have this list/],
  ];
  for (const [path, query, status, text] of requests) {
    const answer = await get(path, query);
    expect([path, query, answer.status]).toEqual([path, query, status]);
    expect(answer.text).toMatch(text);
  }
});

test('lists are available as tables', async () => {
  const { path, items } = listOf('/audits');
  const [first] = (items ?? []) as JsonObject[];
  const csv = (await get(path, '', 'text/csv')).text.trim().split(/\r?\n/);
  expect(csv[0]).toBe('id,title,state,score,createdAt');
  expect(csv).toHaveLength((items ?? []).length + 1);
  expect(csv[1]).toContain(String(first?.['id']));
  const exact = listOf('/posts');
  const lines = (await get(exact.path, '', 'application/x-ndjson')).text.trim().split('\n');
  expect(texts(lines.slice(0, exact.items?.length).map(parseExactly))).toEqual(texts(exact.items));
  for (const [accept, magic] of [
    ['application/vnd.apache.parquet', 'PAR1'],
    ['application/vnd.apache.arrow.stream', ''],
  ] as const) {
    const answer = await get(path, '', accept);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, accept]);
    expect(answer.text.slice(0, 4)).toContain(magic);
  }
});

test('documents describe inferred resources and mark them', async () => {
  const document = JSON.parse((await get('/openapi.json')).text) as { paths: Record<string, { get: JsonObject }> };
  const marked = Object.entries(document.paths).filter(([, { get: one }]) => one?.['x-sightline-generic'] === true);
  expect(marked.map(([path]) => path).sort()).toEqual([...paths].sort());
  const board = document.paths['/brands/{brandId}/leaderboards']?.get['parameters'] as JsonObject[];
  expect(board.find(({ name }) => name === 'period')).toMatchObject({ in: 'query', required: true });

  const client = await connect(key);
  const { tools } = await client.listTools();
  const tool = tools.find(({ name }) => name === 'list_notes');
  expect(tool?.description).toContain('Test data of /brands/{brandId}/notes');
  expect(tool?.description).toContain('generic');
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['get_settings', 'list_ad_groups']));
  const list = listOf('/audits');
  const result = await client.callTool({ name: 'list_audits', arguments: { brandId: list.brandId, plain: true } });
  const { data } = result.structuredContent as { data: { items: Json[] } };
  expect(texts(data.items)).toEqual(texts(list.items));
  await client.close();
});

test('commands describe inferred resources and mark them', async () => {
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(args, { cwd: mirror.folder, env: mirror.environment });
    expect([args, code, code === 0 && stdout !== '' ? '' : stderr]).toEqual([args, 0, '']);
    return stdout;
  };
  const { endpoints } = JSON.parse(await run('endpoints', '--json')) as { endpoints: JsonObject[] };
  const states = new Map(endpoints.map(({ path, state, resource }) => [path, [state, resource]]));
  expect(states.get('/brands/{brandId}/log-lines')).toEqual(['mirrored', 'log_lines']);
  const described = JSON.parse(await run('describe', 'notes', '--json')) as JsonObject;
  expect(described).toMatchObject({ kind: 'data', generic: true });
  expect(described['about']).toContain('Test data of /brands/{brandId}/notes');
  const status = JSON.parse(await run('status', '--json')) as { data: { resources: JsonObject[] } };
  expect(status.data.resources.find(({ resource }) => resource === 'notes')).toMatchObject({ generic: true });
});

test('keys that are limited to a brand read only its rows', async () => {
  const [own, other] = upstream.sandbox.world.brands.map(({ id }) => id) as [string, string];
  const { folder } = mirror.context.config;
  const limited = (await createKey(folder, 'limited', null, NOW_MS, { brands: [own], scopes: ['read', 'sql'] })).text;
  const ask = (path: string) => get(path, '', 'application/json', limited);
  for (const path of ['labels', 'notes', 'campaigns', 'settings']) {
    expect([path, (await ask(`/brands/${own}/${path}`)).status]).toEqual([path, 200]);
    expect([path, (await ask(`/brands/${other}/${path}`)).status]).toEqual([path, 404]);
  }
  expect((await ask('/page_rules')).status).toBe(403);

  const client = await connect(limited);
  const call = async (name: string, values: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: values })) as { isError?: boolean; structuredContent?: JsonObject };
  expect((await call('list_notes', { brandId: other })).isError).toBe(true);
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('list_page_rules');
  await expect(call('list_page_rules', {})).rejects.toThrow('Unknown tool: list_page_rules');
  const counted =
    'SELECT (SELECT count(DISTINCT brand_id) FROM notes) AS brands, (SELECT count(*) FROM page_rules) AS rules';
  const { structuredContent } = await call('query', { sql: counted });
  expect(JSON.stringify(structuredContent)).toMatch(/\[\[1,0\]\]|"brands":1,"rules":0/);
  await client.close();
});

async function connect(as: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${as}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(server.mcpUrl), { requestInit: { headers } }));
  return client;
}

test('snapshots and comments of the replica have inferred tables', async () => {
  const { tables } = await exportWorkspace(mirror.context, () => undefined);
  const names = tables.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['notes', 'posts', 'log_lines', 'settings', 'ad_groups']));
  const rows = await mirror.rows(
    "SELECT comment FROM duckdb_tables() WHERE table_name = 'notes' AND schema_name = 'main'",
  );
  expect(String(rows[0]?.['comment'])).toMatch(/^Test data of .*\(generic: /);
});

test('a list that no sync has read completely is partial', async () => {
  const folder = await temporaryFolder();
  const config = { ...mirror.context.config, folder };
  const { analytics, endpoints } = layoutOf(mirror.context.config.folder);
  await copyFile(analytics, layoutOf(folder).analytics);
  await copyFile(endpoints, layoutOf(folder).endpoints);
  const list = listOf('/mentions');
  const database = await openDatabase(layoutOf(folder).analytics, {});
  await database.exclusive(({ run }) => run("DELETE FROM sync.coverage WHERE resource = 'mentions'"));
  await database.close();
  const service = openService(config, mirror.context.clock, new Uint8Array(32), 10_000);
  onTestFinished(() => service.close());
  const ask = (name: string) =>
    service.ask(service.catalogue.get(name), { brandId: list.brandId ?? '' }, new URLSearchParams());
  expect([(await ask('mentions')).partial, (await ask('notes')).partial]).toEqual([true, false]);
});

test('a changed and a new item keep the order of upstream, and a new endpoint is served without a restart', async () => {
  const changed = ['/labels', '/mentions', '/ad-groups', '/leaderboards', '/log-lines'].map(listOf);
  for (const list of changed) {
    const [first, ...others] = list.items as JsonObject[];
    const shape = list.shape;
    list.items = [
      shape.create(first as JsonObject, drawFrom(shape.path)),
      ...others,
      shape.change(first as JsonObject),
    ];
  }
  const added = shapes.find(({ path }) => path === '/channels') as Shape;
  expect((await get('/channels')).status).toBe(404);
  const { config } = mirror.context;
  const fleet = await openFleetServer(
    { fleetFolder: dirname(config.folder), workspaces: () => new Map([[config.name, config]]) },
    { clock: mirror.context.clock },
  );
  const statusOf = async (path: string) =>
    (await fetch(`${fleet.baseUrl}${path}`, { headers: { 'x-api-key': key } })).status;
  expect([await statusOf(listOf('/notes').path), await statusOf('/channels')]).toEqual([200, 404]);
  chosen.push(added);
  const { status } = await mirror.sync();
  expect(status).toBe('complete');
  for (const list of changed) expect([list.path, texts(await itemsOf(list))]).toEqual([list.path, texts(list.items)]);
  const [list] = upstream.lists(added) as [UpstreamList];
  expect(texts(await itemsOf(list))).toEqual(texts(list.items));
  expect(await statusOf('/channels')).toBe(200);
});

test('a request in progress ends after the resources were opened again', async () => {
  const { endpoints } = layoutOf(mirror.context.config.folder);
  const slow = openRequest(new URL(server.mcpUrl), key);
  await slow.begun;
  const aboutOf = async () => {
    const document = JSON.parse((await get('/openapi.json')).text) as { paths: Record<string, { get: JsonObject }> };
    return document.paths['/channels']?.get['summary'];
  };
  expect(await aboutOf()).toContain('Test data of /channels');
  const forms = await readFile(endpoints, 'utf8');
  await writeFile(endpoints, forms.replace('Test data of /channels', 'Other words about channels'));
  expect(await aboutOf()).toContain('Other words about channels');
  expect(await slow.end()).toBe(200);
});

// Sends the head of a request, and its body when `end` is called, which returns the status.
function openRequest(url: URL, as: string): { readonly begun: Promise<void>; end(): Promise<number> } {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const request = createRequest(url, {
    method: 'POST',
    headers: {
      'x-api-key': as,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': Buffer.byteLength(body),
    },
  });
  const answered = new Promise<number>((resolve, reject) => {
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject);
  });
  const begun = new Promise<void>((resolve) => request.write(body.slice(0, 1), () => resolve()));
  return {
    begun,
    end: () => {
      request.end(body.slice(1));
      return answered;
    },
  };
}

// The body without cursors, which only their server understands.
function formOf(body: Json): Json {
  const walk = (value: Json, name: string): Json => {
    if (Array.isArray(value)) return value.map((one) => walk(one, ''));
    if (value !== null && typeof value === 'object')
      return Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, walk(inner, member)]));
    return typeof value === 'string' && /cursor|token/i.test(name) ? 'cursor' : value;
  };
  return walk(body, '');
}
