import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MART_SCHEMA, marts } from '../../../src/metrics/marts/marts.ts';
import { type PublishedMarts, publishedMarts } from '../../../src/metrics/marts/published.ts';
import { fillFromSnapshot } from '../../../src/operations/backup/restore-snapshot.ts';
import { catalogueTables } from '../../../src/publish/snapshot/exported-table.ts';
import { layoutOf } from '../../../src/publish/snapshot/layout.ts';
import { type Manifest, readManifest } from '../../../src/publish/snapshot/manifest.ts';
import { exportSnapshot, type Snapshot } from '../../../src/publish/snapshot/snapshot-export.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { ensureViews } from '../../../src/warehouse/views.ts';
import { openWarehouse } from '../../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { type OddWorkspace, openOddWorkspace } from './odd-workspace.ts';

// One workspace and folder for all tests, so that later snapshots reuse files.
let workspace: OddWorkspace;
let star: Snapshot;

beforeAll(async () => {
  workspace = await openOddWorkspace();
  await ensureViews(workspace.database, MART_SCHEMA, marts());
  await publish();
  star = await take('star');
});

afterAll(() => workspace.close());

function publish(): Promise<unknown> {
  return publishAnalytics(workspace.database, layoutOf(workspace.folder).analytics);
}

function take(which: PublishedMarts): Promise<Snapshot> {
  const { database, catalogue, clock, folder } = workspace;
  const { signal } = new AbortController();
  const options = { compression: 'snappy', keep: null, marts: publishedMarts(which), clock, signal };
  return exportSnapshot(database, catalogue, layoutOf(folder), options);
}

function martNames({ tables }: Snapshot): string[] {
  return tables.filter(({ kind }) => kind === 'mart').map(({ name }) => name);
}

/** Returns the rows of a relation, each as JSON, sorted. */
async function rowsOf(relation: string): Promise<string[]> {
  const rows = await workspace.query(`SELECT CAST(to_json(t) AS VARCHAR) AS row FROM (${relation}) t`);
  return rows.map(({ row }) => String(row)).sort();
}

async function filesBut(before: Snapshot, after: Snapshot): Promise<string[]> {
  const known = new Set(before.tables.flatMap(({ files }) => files.map(({ path }) => path)));
  const files = after.tables.filter(({ kind }) => kind === 'mart').flatMap((table) => table.files);
  return files.map(({ path }) => path).filter((path) => !known.has(path));
}

test('a snapshot contains the dimensions and facts, with the rows of the views', async () => {
  expect(martNames(star).sort()).toEqual(
    marts()
      .map(({ name }) => name)
      .filter((name) => /^(dim|fct)_/.test(name))
      .sort(),
  );
  let compared = 0;
  for (const table of star.tables.filter(({ kind }) => kind === 'mart')) {
    const columns = table.columns.map(({ name, type }) => `CAST("${name}" AS ${type}) AS "${name}"`).join(', ');
    const files = table.files.map(({ path }) => `'${join(star.path, path)}'`).join(', ');
    const read = await rowsOf(`SELECT ${columns} FROM read_parquet([${files}], hive_partitioning = false)`);
    expect(read, table.name).toEqual(await rowsOf(`SELECT ${columns} FROM ${MART_SCHEMA}.${table.name}`));
    expect(read.length, table.name).toBe(table.rows);
    if (table.rows > 0) compared += 1;
    for (const { path } of table.files) {
      const pattern =
        table.time === null ? /^\w+\/\w{32}\.parquet$/ : /^\w+\/month=(\d{4}-\d\d|unknown)\/\w{32}\.parquet$/;
      expect(path).toMatch(pattern);
    }
  }
  expect(compared).toBeGreaterThan(12);
});

test('the next snapshot writes only the marts and months that changed', async () => {
  expect(await filesBut(star, await take('star'))).toEqual([]);
  const [answer] = await workspace.query(
    `SELECT CAST(id AS VARCHAR) AS id, strftime(created_at, '%Y-%m') AS month FROM responses
     WHERE _deleted_at IS NULL AND created_at IS NOT NULL ORDER BY created_at, id LIMIT 1`,
  );
  await workspace.run(
    `UPDATE responses SET brand_mentioned = NOT coalesce(brand_mentioned, false) WHERE id = '${answer?.['id']}'`,
  );
  await publish();
  const changed = await filesBut(star, await take('star'));
  const folders = changed.map((path) => path.slice(0, path.lastIndexOf('/')));
  expect(new Set(folders)).toEqual(
    new Set([`fct_response/month=${answer?.['month']}`, `fct_entity_mention/month=${answer?.['month']}`]),
  );
});

test('`none` leaves the marts out, `all` adds every mart, and a restore takes only the tables of the snapshot', async () => {
  expect(publishedMarts('none')).toEqual([]);
  const all = await take('all');
  expect(martNames(all).sort()).toEqual(
    marts()
      .map(({ name }) => name)
      .sort(),
  );
  const { path } = all;
  const manifest = (await readManifest(path)) as Manifest;
  const warehouse = await openWarehouse(join(await temporaryFolder(), 'warehouse.duckdb'), workspace.catalogue, {});
  try {
    const restored = await fillFromSnapshot(warehouse, path, manifest, new AbortController().signal);
    expect(restored).toMatchObject({ missing: [], unknown: [], tables: catalogueTables(workspace.catalogue).length });
  } finally {
    await warehouse.close();
  }
});
