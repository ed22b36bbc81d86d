import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import type { ResourceSelection } from '../../src/base/config/config.ts';
import { listEndpoints } from '../../src/operations/endpoints.ts';
import { openContext } from '../../src/operations/sightline.ts';
import { NOW_MS, skippingClock } from '../support/clocks.ts';
import { sampleOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { runCommand } from '../support/run-command.ts';
import { type JsonObject, toJsonText } from './exact-json.ts';
import { type BareMirror, OTHERS, openBareMirror, type Row } from './generic-mirror.ts';
import {
  brokenDocuments,
  dangerousPaths,
  withCycles,
  withDangerousPaths,
  withPrototypeNames,
} from './hostile-documents.ts';
import type { Shape } from './shape.ts';
import { shapes } from './shapes.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from './upstream.ts';

const sorted = <T>(values: readonly T[]): T[] => [...values].sort();

async function open(
  options: Partial<UpstreamOptions> & { readonly shapes: readonly Shape[] },
): Promise<{ upstream: Upstream; environment: Record<string, string> }> {
  const upstream = await startUpstream({ nowMs: NOW_MS, ...options });
  onTestFinished(() => upstream.close());
  const environment = { SIGHTLINE_BASE_URL: upstream.baseUrl, SIGHTLINE_API_KEY: upstream.sandbox.key };
  return { upstream, environment };
}

async function mirrorOf(upstream: Upstream, selection: Partial<ResourceSelection> = {}): Promise<BareMirror> {
  const mirror = await openBareMirror(upstream, NOW_MS, selection);
  onTestFinished(() => mirror.close());
  return mirror;
}

test('the command lists declared and other endpoints of the document, as JSON and as a table with counts', async () => {
  const { environment } = await open({ shapes });
  const cwd = await temporaryFolder();
  const run = (...args: string[]) => runCommand(['endpoints', ...args], { cwd, env: environment });
  const { code, stdout, stderr } = await run('--json');
  expect([code, stderr]).toEqual([0, '']);
  const { endpoints, ignored, unlisted } = JSON.parse(stdout) as Awaited<ReturnType<typeof listEndpoints>>;
  const states = new Map(endpoints.map(({ path, state, reason }) => [path, reason ?? state]));
  expect(shapes.map(({ path }) => [path, states.get(path)])).toEqual(shapes.map(({ path }) => [path, 'available']));
  const declared = endpoints.filter(({ state }) => state === 'declared').map(({ resource }) => resource);
  expect(sorted(declared)).toEqual(sorted(declarations.map(({ name }) => name)));
  expect({ ignored, unlisted }).toEqual({ ignored: 0, unlisted: [] });

  const table = await run();
  expect(table.code).toBe(0);
  expect(table.stdout).toMatch(/\/brands\/\{brandId\}\/labels +│ available/);
  expect(table.stderr).toContain(
    `${declarations.length} declared, 0 mirrored, ${shapes.length} available, 0 unsupported`,
  );
});

test('hostile and broken documents hide no declared endpoint, stop no sync and lead to no other server', async () => {
  const received: string[] = [];
  const elsewhere = createServer((request, response) => {
    received.push(request.url ?? '');
    response.end('{}');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void elsewhere.close());
  const address = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/v1`;

  let alter: (document: JsonObject) => string = toJsonText;
  const things = { status: 200, body: { data: [{ id: 'a' }, { id: 'b' }] } } as const;
  const others = (path: string) => (/^\/(brands|engines|credits)/.test(path) ? null : things);
  const { upstream, environment } = await open({ shapes: [], alterDocument: (document) => alter(document), others });
  const exclude = OTHERS.filter((name) => !['prompts', 'responses', 'metrics_daily'].includes(name));
  const mirror = await mirrorOf(upstream, { exclude });
  const context = openContext({ folder: await temporaryFolder(), environment, clock: skippingClock(() => NOW_MS) });
  const rows = 'SELECT (SELECT count(*) FROM prompts) AS prompts, (SELECT count(*) FROM responses) AS responses';
  const expectRows = async (what: string): Promise<void> => {
    expect((await mirror.sync()).error, what).toBeNull();
    const [stored] = await mirror.rows(rows);
    expect(stored, what).toEqual(await countsOf(upstream));
  };

  for (const hostile of [withDangerousPaths, withCycles, withPrototypeNames] as readonly ((
    document: JsonObject,
    elsewhere: string,
  ) => string)[]) {
    alter = (document) => hostile(document, address);
    await expectRows(hostile.name);
    const { endpoints } = await listEndpoints(context);
    const declared = endpoints.filter(({ state }) => state === 'declared').map(({ resource }) => resource);
    expect(sorted(declared), hostile.name).toEqual(sorted(declarations.map(({ name }) => name)));
    const available = endpoints.filter(({ state }) => state === 'available').map(({ path }) => path);
    expect(available.filter((path) => dangerousPaths.includes(path))).toEqual([]);
  }
  expect(received).toEqual([]);
  const targets = upstream.requests.map(({ target }) => target);
  expect(
    targets.filter((target) => !/^\/v1\/[\w{}/.-]+(\?|$)/.test(target) || /\.\.|\/\/|\/\.\//.test(target)),
  ).toEqual([]);
  expect(targets.filter((target) => target.length > 1_000)).toEqual([]);
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as Record<string, unknown>)['type']).toBeUndefined();

  for (const [what, text] of sampleOf(Object.entries(brokenDocuments), 1)) {
    alter = () => text;
    await expectRows(what);
    const listed = await listEndpoints(context).catch((thrown: unknown) => thrown);
    if (listed instanceof Error) expect(listed).toMatchObject({ code: expect.any(String) });
    else expect(listed).toMatchObject({ endpoints: [], unlisted: declarations.map(({ path }) => path) });
  }
});

async function countsOf({ sandbox }: Upstream): Promise<{ prompts: number; responses: number }> {
  const [brand] = sandbox.world.brands.map(({ id }) => id);
  const count = async (path: string): Promise<number> => {
    const headers = { 'x-api-key': sandbox.key };
    const response = await fetch(`${sandbox.baseUrl}/brands/${brand}${path}`, { headers });
    return ((await response.json()) as { data: unknown[] }).data.length;
  };
  return { prompts: await count('/prompts?includePaused=true'), responses: await count('/responses?limit=100') };
}

const endpoints = 'SELECT path, state, reason, found_at, changed_at FROM sync.endpoints ORDER BY path';

// Removes paths from a document, and adds a parameter to the list of brands.
function changed(document: JsonObject, removed: readonly string[], parameters: readonly JsonObject[]): JsonObject {
  const paths = document['paths'] as Record<string, JsonObject>;
  const kept = Object.entries(paths).filter(([path]) => !removed.includes(path));
  const get = paths['/brands']?.['get'] as JsonObject;
  const given = (get['parameters'] ?? []) as JsonObject[];
  const brands = { get: { ...get, parameters: [...given, ...parameters] } };
  return { ...document, paths: { ...Object.fromEntries(kept), '/brands': brands } };
}

test('a sync records endpoints and parameters that no declaration has, and reports each once', async () => {
  let alter = (document: JsonObject): JsonObject => document;
  const alterDocument = (document: JsonObject): string => toJsonText(alter(document));
  const { upstream } = await open({ shapes, alterDocument });
  const mirror = await mirrorOf(upstream, { requests: 0 });
  // A sync of chosen resources does not record the document.
  expect(await mirror.sync(['brands'])).toMatchObject({ drift: { newEndpoints: 0 } });
  expect(await mirror.rows(endpoints)).toEqual([]);

  expect(await mirror.sync()).toMatchObject({
    status: 'complete',
    drift: { newEndpoints: shapes.length, newParameters: 0 },
  });
  const first = await mirror.rows(endpoints);
  expect(first.map(({ path, state, reason }) => [path, state, reason])).toEqual(
    shapes.map(({ path }) => [path, 'available', null]).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  );
  // The setting allows no requests for them.
  expect(upstream.requests).toEqual([]);

  const unchanged = { drift: { newEndpoints: 0, newParameters: 0 } };
  expect(await mirror.sync()).toMatchObject(unchanged);
  expect(await mirror.rows(endpoints)).toEqual(first);

  const removed = ['/industries', '/brands/{brandId}/labels'];
  const parameter = {
    name: 'archived',
    in: 'query',
    description: 'Also archived brands.',
    schema: { type: 'boolean' },
  };
  alter = (document) => changed(document, removed, [parameter]);
  expect(await mirror.sync()).toMatchObject({ status: 'complete', drift: { newEndpoints: 0, newParameters: 1 } });
  const states = (rows: readonly Row[]) => new Map(rows.map(({ path, state }) => [path, state]));
  const without = states(await mirror.rows(endpoints));
  expect([...without.keys()]).toHaveLength(shapes.length);
  expect([...without].filter(([, state]) => state === 'vanished').map(([path]) => path)).toEqual(removed.toReversed());
  const drift = "SELECT resource, path, detail, example FROM sync.drift WHERE kind = 'new_parameter'";
  expect(await mirror.rows(drift)).toEqual([
    { resource: 'brands', path: 'archived', detail: 'optional', example: '"Also archived brands."' },
  ]);

  alter = (document) => document;
  expect(await mirror.sync()).toMatchObject(unchanged);
  expect([...states(await mirror.rows(endpoints)).values()]).toEqual(shapes.map(() => 'available'));
  expect((await mirror.rows(endpoints)).map((row) => row['found_at'])).toEqual(first.map((row) => row['found_at']));

  // A document of another service does not change anything.
  alter = () => ({ openapi: '3.1.0', paths: { '/pets': { get: {} } } });
  expect(await mirror.sync()).toMatchObject({ status: 'complete', ...unchanged });
  expect([...states(await mirror.rows(endpoints)).values()]).toEqual(shapes.map(() => 'available'));
});
