import { expect, onTestFinished, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import type { ResourceSelection } from '../../src/base/config/config.ts';
import type { listEndpoints } from '../../src/operations/endpoints.ts';
import { NOW_MS } from '../support/clocks.ts';
import { temporaryFolder } from '../support/folders.ts';
import { runCommand } from '../support/run-command.ts';
import { type JsonObject, toJsonText } from './exact-json.ts';
import { type BareMirror, openBareMirror, type Row } from './generic-mirror.ts';
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
  let alter = (document: JsonObject): JsonObject | string => document;
  const alterDocument = (document: JsonObject): string => {
    const altered = alter(document);
    return typeof altered === 'string' ? altered : toJsonText(altered);
  };
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

  // A document of another service and a body that is no document do not change anything.
  const nested = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  for (const other of [{ openapi: '3.1.0', paths: { '/pets': { get: {} } } }, '<!doctype html>', '[1,2,3]', nested]) {
    alter = () => other;
    expect(await mirror.sync()).toMatchObject({ status: 'complete', ...unchanged });
    expect([...states(await mirror.rows(endpoints)).values()]).toEqual(shapes.map(() => 'available'));
  }
});
