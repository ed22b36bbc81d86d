import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { replayWorkspace } from '../../src/operations/replay.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { NOW_MS } from '../support/clocks.ts';
import type { JsonObject } from './exact-json.ts';
import { expectStored, type GenericMirror, openGenericMirror, tablesOf } from './generic-mirror.ts';
import { drawFrom } from './shape-random.ts';
import { shapes } from './shapes.ts';
import { startUpstream, type Upstream, type UpstreamRequest } from './upstream.ts';

/** Lists with cursors, and lists whose items have no key. */
const PATHS = ['/brands/{brandId}/mentions', '/page_rules', '/brands/{brandId}/log-lines', '/brands/{brandId}/shifts'];
const used = shapes.filter(({ path }) => PATHS.includes(path));

let upstream: Upstream;
let mirror: GenericMirror;
let onRequest: (request: UpstreamRequest) => void = () => undefined;

beforeAll(async () => {
  upstream = await startUpstream({ shapes: used, nowMs: NOW_MS, onRequest: (seen) => onRequest(seen) });
  mirror = await openGenericMirror(upstream, NOW_MS);
  expect(await mirror.sync()).toMatchObject({ status: 'complete', failures: [] });
});

afterAll(async () => {
  await mirror?.close();
  await upstream?.close();
});

describe.sequential('lists of undeclared endpoints', () => {
  test('continue at the next page after a failure, and count equal items on', async () => {
    const draw = drawFrom('more items');
    const paged = used
      .filter(({ paging }) => paging.parameters.length > 0)
      .flatMap((shape) =>
        upstream
          .lists(shape)
          .filter(({ items }) => (items ?? []).length > 0)
          .slice(0, 1),
      );
    expect(paged).toHaveLength(3);
    for (const list of paged) {
      const { shape, items } = list;
      const added = Array.from({ length: 30 }, () => shape.create(items?.[0] as JsonObject, draw));
      list.items = [...added, ...(items ?? [])];
    }
    const seen = new Set<string>();
    onRequest = ({ path, query }) => {
      // Every page after the first fails.
      if (seen.has(path) && !seen.has(path + query)) throw new Error('no further pages');
      seen.add(path).add(path + query);
    };
    upstream.requests.length = 0;
    expect((await mirror.sync()).status).toBe('partial');
    onRequest = () => undefined;
    upstream.requests.length = 0;
    expect(await mirror.sync()).toMatchObject({ status: 'complete', failures: [] });
    await expectStored(mirror, upstream, used);
    for (const { path } of paged) {
      const again = upstream.requests.filter((one) => one.path === path).map(({ path: at, query }) => at + query);
      expect(
        again.filter((one) => seen.has(one)),
        path,
      ).toEqual([]);
    }
  });

  test('are equal after a replay of the raw pages', async () => {
    const into = join(mirror.folder, 'replayed.duckdb');
    const request = { from: null, to: null, only: null, into, acceptMissing: false };
    const { status, damages } = await replayWorkspace(mirror.context, request, () => undefined);
    expect({ status, damages }).toEqual({ status: 'complete', damages: [] });
    const digests = [...(await tablesOf(mirror)).values()].map(
      (name) =>
        `SELECT '${name}', count(*), CAST(bit_xor(hash(t)) AS VARCHAR) FROM (SELECT * EXCLUDE (_run_id) FROM ${name}) t`,
    );
    const [replayed, stored] = [
      await openReader(into),
      await openReader(layoutOf(mirror.context.config.folder).warehouse),
    ];
    onTestFinished(() => [replayed, stored].forEach((reader) => void reader.close()));
    const sql = digests.join(' UNION ALL ');
    expect((await replayed.query(sql)).rows).toEqual((await stored.query(sql)).rows);
  });
});
