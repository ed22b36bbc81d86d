import { expect, onTestFinished, test } from 'vitest';
import { NOW_MS } from '../support/clocks.ts';
import { type JsonObject, toJsonText } from './exact-json.ts';
import { openGenericMirror, type Row } from './generic-mirror.ts';
import { shapes } from './shapes.ts';
import { startUpstream } from './upstream.ts';

const workspace = { brands: 1, prompts: 2, days: 2 } as const;
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
  const upstream = await startUpstream({ shapes, nowMs: NOW_MS, workspace, alterDocument });
  onTestFinished(() => upstream.close());
  const mirror = await openGenericMirror(upstream, NOW_MS, { resources: { requests: 0 } });
  onTestFinished(() => mirror.close());

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

  expect(await mirror.sync()).toMatchObject({ drift: { newEndpoints: 0, newParameters: 0 } });
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
  expect(await mirror.sync()).toMatchObject({ drift: { newEndpoints: 0, newParameters: 0 } });
  expect([...states(await mirror.rows(endpoints)).values()]).toEqual(shapes.map(() => 'available'));
  expect((await mirror.rows(endpoints)).map((row) => row['found_at'])).toEqual(first.map((row) => row['found_at']));

  // A document of another service does not change anything.
  alter = () => ({ openapi: '3.1.0', paths: { '/pets': { get: {} } } });
  expect(await mirror.sync()).toMatchObject({ status: 'complete', drift: { newEndpoints: 0, newParameters: 0 } });
  expect([...states(await mirror.rows(endpoints)).values()]).toEqual(shapes.map(() => 'available'));
});

test('a sync of chosen resources does not record the document', async () => {
  const upstream = await startUpstream({ shapes, nowMs: NOW_MS, workspace });
  onTestFinished(() => upstream.close());
  const mirror = await openGenericMirror(upstream, NOW_MS);
  onTestFinished(() => mirror.close());
  expect(await mirror.sync({ only: ['brands'] })).toMatchObject({ drift: { newEndpoints: 0 } });
  expect(await mirror.rows(endpoints)).toEqual([]);
});
