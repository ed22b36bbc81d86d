import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Context, openContext, query, sync } from '../../src/operations/sightline.ts';
import { hurriedClock } from '../support/clocks.ts';
import type { Item } from './generated-items.ts';
import { type Simulator, startSimulator } from './simulator.ts';

const NOW_MS = Date.parse('2026-06-15T12:00:00Z');

async function open(settings: Readonly<Record<string, unknown>>): Promise<{ simulator: Simulator; context: Context }> {
  const simulator = await startSimulator({ requestsPerMinute: 600, clock: () => NOW_MS, items: [0, 60] });
  const folder = await mkdtemp(join(tmpdir(), 'sightline-document-'));
  onTestFinished(async () => {
    await simulator.close();
    await rm(folder, { recursive: true, force: true });
  });
  await writeFile(join(folder, 'api.json'), JSON.stringify(simulator.specification));
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ requestsPerMinute: 600, ...settings }));
  const environment = { SIGHTLINE_BASE_URL: simulator.baseUrl, SIGHTLINE_API_KEY: 'some-key' };
  return { simulator, context: openContext({ folder, environment, clock: hurriedClock(() => NOW_MS) }) };
}

/** Items of every table, in canonical order. */
async function storedItems(context: Context, paths: readonly string[]): Promise<Map<string, Item[]>> {
  const [endpoints] = await query(context, 'SELECT path, resource FROM sync.endpoints WHERE resource IS NOT NULL');
  const tables = new Map((endpoints?.rows ?? []).map(([path, name]) => [String(path), String(name)]));
  const statements = paths.map(
    (path) => `SELECT CAST(_item AS VARCHAR) FROM "${tables.get(path)}" WHERE _deleted_at IS NULL ORDER BY uid`,
  );
  const results = await query(context, statements.join(';\n'));
  return new Map(
    results.map(({ rows }, index) => [String(paths[index]), rows.map(([item]) => JSON.parse(String(item)) as Item)]),
  );
}

test('a public API is mirrored from its OpenAPI document alone, and again without changes', async () => {
  const { simulator, context } = await open({ openapi: '/openapi.json' });
  const first = await sync(context);
  expect([first.status, first.failures, first.warnings]).toEqual(['complete', [], []]);
  const { collections, items } = simulator.library;
  const stored = await storedItems(
    context,
    collections.map(({ path }) => path),
  );
  for (const { path } of collections) {
    const expected = (items.get(path) ?? []).toSorted((a, b) => (String(a['uid']) < String(b['uid']) ? -1 : 1));
    expect(stored.get(path), path).toEqual(expected);
  }
  expect(simulator.rejected()).toBe(0);

  const second = await sync(context);
  expect(second.status).toBe('complete');
  const changed = Object.values(second.tables).filter(({ inserted, updated, deleted }) => inserted + updated + deleted);
  expect(changed).toEqual([]);
});

test('the document can be a file, and the settings choose the endpoints', async () => {
  const { simulator, context } = await open({
    openapi: './api.json',
    resources: { include: ['/series/*', 'species'] },
  });
  const { status } = await sync(context);
  expect(status).toBe('complete');
  expect(new Set(simulator.requests.map((url) => url.replace(/\?.*/, '')))).toEqual(
    new Set(['/series/search', '/species/search']),
  );
});

test('a document that is missing, or no document, is an error that names the setting', async () => {
  const missing = await open({ openapi: './none.json' });
  expect((await sync(missing.context)).error?.message).toMatch(
    /^openapi: the file .*none\.json cannot be read \(ENOENT\)$/,
  );
  const empty = await open({ openapi: '/series/search' });
  const { error } = await sync(empty.context);
  expect([error?.code, error?.hint]).toEqual(['config_invalid', expect.stringContaining('`openapi`')]);
});
