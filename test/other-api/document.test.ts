import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { canonical, type JsonObject, parseExactly, toJsonText } from '../generic/exact-json.ts';
import { type GenericMirror, openGenericMirror } from '../generic/generic-mirror.ts';
import { shapes } from '../generic/shapes.ts';
import { startUpstream, type Upstream } from '../generic/upstream.ts';
import { NOW_MS } from '../support/clocks.ts';

/** An API without brands. */
const used = shapes.filter(({ path }) => !path.startsWith('/brands/'));

function ownDocument(document: JsonObject): string {
  const paths = Object.entries(document['paths'] as JsonObject);
  return toJsonText({
    ...document,
    paths: Object.fromEntries(paths.filter(([path]) => used.some((shape) => shape.path === path))),
  });
}

async function open(
  settings: Readonly<Record<string, unknown>>,
): Promise<{ upstream: Upstream; mirror: GenericMirror }> {
  const upstream = await startUpstream({ shapes: used, nowMs: NOW_MS, alterDocument: ownDocument });
  const mirror = await openGenericMirror(upstream, NOW_MS, settings);
  await writeFile(join(mirror.folder, 'api.json'), ownDocument(await upstream.document()));
  onTestFinished(async () => {
    await mirror.close();
    await upstream.close();
  });
  return { upstream, mirror };
}

test('an API is mirrored from its OpenAPI document alone, and again without changes', async () => {
  const { upstream, mirror } = await open({ openapi: '/openapi.json' });
  expect(await mirror.sync()).toMatchObject({ status: 'complete', failures: [], warnings: [] });
  const endpoints = await mirror.rows('SELECT path, resource FROM sync.endpoints WHERE resource IS NOT NULL');
  expect(endpoints.map(({ path }) => path).sort()).toEqual(used.map(({ path }) => path).sort());
  for (const shape of used) {
    const table = endpoints.find(({ path }) => path === shape.path)?.['resource'];
    const rows = await mirror.rows(`SELECT CAST(_item AS VARCHAR) AS item FROM "${table}" WHERE _deleted_at IS NULL`);
    const stored = rows.map(({ item }) => canonical(parseExactly(String(item))));
    const expected = upstream.lists(shape).flatMap(({ items }) => (items ?? []).map(canonical));
    expect(stored.sort(), shape.path).toEqual(expected.sort());
  }

  const second = await mirror.sync();
  expect(second.status).toBe('complete');
  const changed = Object.values(second.tables).filter(({ inserted, updated, deleted }) => inserted + updated + deleted);
  expect(changed).toEqual([]);
});

test('the document can be a file, and the settings choose the endpoints', async () => {
  const { upstream, mirror } = await open({
    openapi: './api.json',
    resources: { include: ['/series/*', 'industries'] },
  });
  expect((await mirror.sync()).status).toBe('complete');
  expect(new Set(upstream.requests.map(({ path }) => path))).toEqual(new Set(['/series/search', '/industries']));
});

test('a document that is missing, or no document, is an error that names the setting', async () => {
  const missing = await open({ openapi: './none.json' });
  expect((await missing.mirror.sync()).error?.message).toMatch(
    /^openapi: the file .*none\.json cannot be read \(ENOENT\)$/,
  );
  const empty = await open({ openapi: '/industries' });
  const { error } = await empty.mirror.sync();
  expect([error?.code, error?.hint]).toEqual(['config_invalid', expect.stringContaining('`openapi`')]);
});
