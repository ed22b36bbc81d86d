import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findEngine } from '../../src/lake/iceberg/manifest-engine.ts';
import { sumRows } from '../../src/lake/iceberg/manifest-rows.ts';
import type { StoredSnapshot } from '../../src/lake/store-publisher.ts';
import { layoutOf } from '../../src/snapshot/layout.ts';
import { readManifest } from '../../src/snapshot/manifest.ts';
import { exportSnapshot } from '../../src/snapshot/snapshot-export.ts';
import { openScratch } from '../../src/warehouse/scratch.ts';
import { type OddWorkspace, openOddWorkspace } from '../snapshot/odd-workspace.ts';
import { comparable, lines, typesOf, warehouseRows } from '../snapshot/readers.ts';
import { startChild } from '../support/child.ts';
import { countOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { describeWith } from '../support/needs.ts';
import {
  dataFiles,
  type Lake,
  NO_ENGINE,
  openLake,
  readByIcebird,
  type StagedTable,
  stageTables,
  stateOf,
  viewFolder,
} from './lake.ts';

const CHILD = new URL('lake-child.ts', import.meta.url);
/** Concurrent publishers, and kills. */
const PUBLISHERS = countOf(2, 4);
const KILLS = countOf(1, 8);
const DAY_MS = 24 * 3_600_000;
/** Time of the first snapshot. Each snapshot is of another day, because retention keeps one per day. */
const START_MS = Math.floor(Date.now() / 1000) * 1000 - 1000 * DAY_MS;
const COLUMNS = [
  { name: 'id', type: 'VARCHAR' },
  { name: 'created_at', type: 'TIMESTAMPTZ' },
  { name: 'n', type: 'BIGINT' },
];

test.runIf(NO_ENGINE !== null)('a missing Iceberg engine is reported with the package to install', () => {
  expect(findEngine).toThrow(
    /publish\.kind is "iceberg", but the package chdb is not installed; run `npm install --no-save --save-prod/,
  );
});

/** Returns SQL for `count` rows of a month, numbered from `first`. */
function month(name: string, first: number, count = 3): string {
  const at = `TIMESTAMP '2026-${name}-01 00:00:00' + INTERVAL (i) HOUR`;
  return `SELECT 'id ' || i AS id, ${at} AS created_at, CAST(${first} + i AS BIGINT) AS n FROM range(${count}) r(i)`;
}

function facts(months: Readonly<Record<string, string>>, more: StagedTable['columns'] = []): StagedTable {
  const parts = Object.fromEntries(Object.entries(months).map(([name, query]) => [`month=2026-${name}`, query]));
  return { name: 'facts', time: 'created_at', columns: [...COLUMNS, ...more], parts };
}

describeWith(NO_ENGINE)('Iceberg tables', () => {
  let lake: Lake;
  let generation = 0;

  beforeAll(async () => {
    lake = await openLake();
  });
  afterAll(() => lake.close());

  const put = async (tables: readonly StagedTable[], at = ++generation): Promise<StoredSnapshot> =>
    lake.publisher().put(await stageTables(await temporaryFolder(), START_MS + at * DAY_MS, tables));
  const publish = async (...tables: StagedTable[]) => {
    const placed = await put(tables);
    expect(await lake.publisher().point(placed)).toBe('moved');
    return placed;
  };
  const numbers = async (placed?: StoredSnapshot, table = 'facts') => {
    const metadata = await lake.metadata(await lake.read(placed), table);
    return (await readByIcebird(metadata)).map(({ n }) => Number(n)).sort((a, b) => a - b);
  };
  const partOf = async (name: string, placed?: StoredSnapshot) =>
    stateOf(await lake.read(placed), 'facts').parts.find(({ folder }) => folder.endsWith(name));

  test('are replaced month by month, and earlier snapshots can still be read', async () => {
    const first = await publish(facts({ '01': month('01', 0), '02': month('02', 100) }));
    expect(await numbers()).toEqual([0, 1, 2, 100, 101, 102]);
    const second = await publish(facts({ '01': month('01', 0), '02': month('02', 200), '03': month('03', 300) }));
    expect(await numbers()).toEqual([0, 1, 2, 200, 201, 202, 300, 301, 302]);
    expect(await numbers(first)).toEqual([0, 1, 2, 100, 101, 102]);
    expect((await partOf('01'))?.files).toEqual((await partOf('01', first))?.files);
    const { snapshots = [] } = await lake.metadata(await lake.read(second), 'facts');
    expect(snapshots.map(({ summary }) => summary.operation)).toEqual(['append', 'overwrite']);
    const third = await publish(facts({ '01': month('01', 0), '03': month('03', 300) }));
    expect(await numbers()).toEqual([0, 1, 2, 300, 301, 302]);
    // Two files: a list of manifests, and metadata.
    expect(third.sent.files).toBe(2);
    const same = await publish(facts({ '01': month('01', 0), '03': month('03', 300) }));
    expect(same.sent.files).toBe(0);
  });

  test('of one snapshot become visible together, including an empty one, and never go back to an older one', async () => {
    const small = { name: 'small', columns: [{ name: 'n', type: 'BIGINT' }], parts: { '': 'SELECT 1::BIGINT AS n' } };
    const none = { ...small, name: 'none', parts: { '': 'SELECT 1::BIGINT AS n WHERE false' } };
    await publish(facts({ '01': month('01', 0) }), small, none);
    const stands = await lake.read();
    expect(await numbers(undefined, 'none')).toEqual([]);
    generation += 2;
    const late = await put([facts({ '01': month('01', 50) }), small, none], generation - 1);
    expect(await lake.read()).toEqual(stands);
    await publish(facts({ '01': month('01', 60) }), { ...small, parts: { '': 'SELECT 2::BIGINT AS n' } }, none);
    expect(await lake.publisher().point(late)).toBe('superseded');
    expect([await numbers(), await numbers(undefined, 'small')]).toEqual([[60, 61, 62], [2]]);
    expect(await numbers(late)).toEqual([50, 51, 52]);
  });

  test('keep the snapshots of all concurrent publishers', async () => {
    const all = Array.from({ length: PUBLISHERS }, () => ++generation);
    const placed = await Promise.all(all.map((at) => put([facts({ '01': month('01', at * 10) })], at)));
    const results = await Promise.all(placed.map((each) => lake.publisher().point(each)));
    expect(results).toContain('moved');
    expect(await numbers()).toEqual([0, 1, 2].map((n) => generation * 10 + n));
    for (const [index, each] of placed.entries()) {
      expect(await numbers(each)).toEqual([0, 1, 2].map((n) => (all[index] ?? 0) * 10 + n));
    }
    await publish(facts({ '01': month('01', 7) }));
    const { snapshots = [] } = await lake.metadata(await lake.read(), 'facts');
    const known = snapshots.map((each) => each['snapshot-id']);
    for (const each of placed) {
      expect(known).toContain(stateOf(await lake.read(each), 'facts').snapshot['snapshot-id']);
    }
  });

  test('are complete after a publisher was killed, and the same for all readers after the next publish', async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const child = startChild(CHILD, lake.folder, lake.store.location, String(START_MS + (generation + 1) * DAY_MS));
      expect(await child.message()).not.toBeNull();
      await new Promise((resolve) => setTimeout(resolve, (kill * 137) % 1500));
      await child.kill();
      generation += 2;
      expect(new Set((await numbers()).map((n) => Math.floor(n / 10))).size).toBe(1);
      await publish(facts({ '01': month('01', 0), '02': month('02', 100) }));
      const { id } = await lake.read();
      expect(viewFolder(lake.folder, 'facts')).toEqual({ highest: id, hinted: id, hadoop: id });
      expect(await numbers()).toEqual([0, 1, 2, 100, 101, 102]);
    }
  });
});

describeWith(NO_ENGINE)('published Iceberg tables', () => {
  let workspace: OddWorkspace;
  let lake: Lake;

  beforeAll(async () => {
    workspace = await openOddWorkspace();
    lake = await openLake();
  });
  afterAll(async () => {
    await workspace.close();
    await lake.close();
  });

  const exported = async (now: number) => {
    const { database, catalogue } = workspace;
    const layout = layoutOf(join(workspace.folder, 'own'));
    const clock = { ...workspace.clock, now: () => now };
    const { signal } = new AbortController();
    const snapshot = await exportSnapshot(database, catalogue, layout, {
      compression: 'zstd',
      keep: null,
      clock,
      signal,
    });
    const manifest = await readManifest(snapshot.path);
    if (manifest === null) throw new Error('the manifest is missing');
    const publisher = lake.publisher();
    const placed = await publisher.put({ folder: snapshot.path, manifest });
    await publisher.point(placed);
    return { placed, path: snapshot.path };
  };
  const check = async (path: string) => {
    const manifest = await lake.read();
    const scratch = await openScratch({ memoryLimitMb: 256, temporaryFolder: join(workspace.folder, '.temporary') });
    for (const table of [...workspace.catalogue.tables, ...workspace.catalogue.histories]) {
      const metadata = await lake.metadata(manifest, table.name);
      const rows = await readByIcebird(metadata);
      const types = typesOf(table);
      expect(lines(rows.map((row) => comparable(row, types))), table.name).toEqual(
        await warehouseRows(workspace, table, 3),
      );
      const files = (await dataFiles(metadata)).map((address) =>
        join(lake.folder, address.slice(lake.store.location.length)),
      );
      const columns = Object.entries(types).map(([name, type]) => ({ name, type }));
      if (files.length === 0) continue;
      expect(await sumRows(scratch, files, columns, []), table.name).toEqual(
        await sumRows(scratch, [join(path, table.name, '**', '*.parquet')], columns, []),
      );
    }
    scratch.close();
  };

  test('equal the warehouse row by row in two readers, also after rows of a month changed', async () => {
    const first = await exported(START_MS);
    await check(first.path);
    await workspace.run(
      "UPDATE responses SET prompt = 'other' WHERE id IN (SELECT id FROM responses WHERE created_at IS NOT NULL ORDER BY created_at DESC LIMIT 2)",
    );
    const second = await exported(START_MS + 5000);
    await check(second.path);
    // Rows, their manifest, the list of manifests, and metadata.
    expect(second.placed.sent.files).toBe(4);
  });
});
