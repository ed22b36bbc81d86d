import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { MART_SCHEMA, marts, tablesIn } from '../../../src/metrics/marts/marts.ts';
import { publishedMarts } from '../../../src/metrics/marts/published.ts';
import { type Layout, layoutOf } from '../../../src/publish/snapshot/layout.ts';
import { exportSnapshot, type Snapshot } from '../../../src/publish/snapshot/snapshot-export.ts';
import { timedTables } from '../../../src/warehouse/file/refresh-copy.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { ensureViews } from '../../../src/warehouse/views.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { openOddWorkspace } from './odd-workspace.ts';

/** Fewer rows than those of a month. */
const FILE_ROWS = 40;
/** Rows of February. */
const OLD = "created_at < TIMESTAMP '2026-03-01'";
const ONE = `id = (SELECT min(id) FROM responses WHERE ${OLD} AND brand_mentioned AND _deleted_at IS NULL)`;
/** Changes as the writers of the warehouse make them, which change no row in common, and the tables with other files afterwards. */
const CHANGES: readonly (readonly [changes: readonly string[], tables: readonly string[]])[] = [
  [
    [
      `UPDATE responses SET brand_position = 77, _row_hash = 'edited' WHERE ${ONE}`,
      'UPDATE metrics_daily SET _synced_at = _synced_at - INTERVAL 1 HOUR WHERE date = (SELECT min(date) FROM metrics_daily)',
    ],
    ['fct_entity_mention', 'fct_response', 'metrics_daily', 'responses'],
  ],
  [
    [
      `DELETE FROM response_citations WHERE response_id = (SELECT min(response_id) FROM response_citations WHERE ${OLD})`,
      'UPDATE competitors SET _deleted_at = _synced_at WHERE id = (SELECT min(competitor_id) FROM response_competitors)',
    ],
    ['competitors', 'dim_competitor', 'fct_citation', 'fct_entity_mention', 'response_citations'],
  ],
  [
    [
      `UPDATE responses SET _deleted_at = _synced_at WHERE ${ONE}`,
      `UPDATE responses SET created_at = created_at + INTERVAL 1 MONTH, _row_hash = 'moved' WHERE ${ONE}`,
    ],
    ['fct_entity_mention', 'fct_response', 'responses'],
  ],
  // The other files of the month begin with other days.
  [
    ['DELETE FROM responses WHERE CAST(created_at AS DATE) = (SELECT min(CAST(created_at AS DATE)) FROM responses)'],
    ['fct_entity_mention', 'fct_response', 'responses'],
  ],
];

test('a snapshot after a refresh of the replica has the files of a complete one, and does not read unchanged months', async () => {
  const workspace = await openOddWorkspace();
  onTestFinished(() => workspace.close());
  const { database, clock } = workspace;
  await ensureViews(database, MART_SCHEMA, marts());
  const { histories: _, ...others } = workspace.catalogue;
  const tables = others.tables.filter(({ name }) => /^(response|competitors$|metrics_daily$)/.test(name));
  const catalogue = { ...others, tables, histories: [] };
  const layout = layoutOf(workspace.folder);
  const publish = () =>
    publishAnalytics(database, layout.analytics, { timed: timedTables(workspace.catalogue), bytesLeast: 0 });
  const take = ({ snapshots, latest }: Pick<Layout, 'snapshots' | 'latest'> = layout): Promise<Snapshot> => {
    const { signal } = new AbortController();
    const options = {
      compression: 'snappy',
      fileRows: FILE_ROWS,
      keep: null,
      marts: publishedMarts('star'),
      clock,
      signal,
    };
    return exportSnapshot(database, catalogue, { ...layout, snapshots, latest }, options);
  };
  const complete = async (): Promise<string[]> => pathsOf(await take(layoutOf(await temporaryFolder())));
  await publish();
  let last = await take();
  expectDays(last.tables.find(({ name }) => name === 'responses')?.files ?? []);
  for (const [changes, changed] of CHANGES) {
    await workspace.run(...changes);
    await publish();
    const next = await take();
    expect(pathsOf(next)).toEqual(await complete());
    const known = new Set(pathsOf(last));
    const written = pathsOf(next).filter((path) => !known.has(path));
    expect([...new Set(written.map((path) => path.split('/')[0]))]).toEqual(changed);
    last = next;
  }
  // Without fingerprints, files with an origin are written again if their rows are read.
  const manifest = join(last.path, 'manifest.json');
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replaceAll(/"fingerprint": "\w+",/g, ''));
  await workspace.run(
    "UPDATE responses SET _row_hash = 'x' WHERE created_at = (SELECT max(created_at) FROM responses)",
  );
  await publish();
  expect((await take()).written.files).toBe(3);
  // A complete copy of the replica has changes that a refresh has not noticed.
  await workspace.run('UPDATE responses SET brand_position = 77 WHERE brand_mentioned');
  await publish();
  expect((await take()).written.files).toBe(0);
  await rm(`${layout.analytics}.contents.json`);
  await publish();
  expect(pathsOf(await take())).toEqual(await complete());
});

test('the tables of a mart with a time are those that DuckDB finds in its SQL', async () => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  onTestFinished(() => connection.closeSync());
  const all = marts();
  for (const mart of all.filter(({ time }) => time !== undefined)) {
    const found = connection.getTableNames(mart.sql, true).map((name) => name.replace(/ AS .*/, '').split('.'));
    const expected = found.flatMap(([schema, table]) => {
      const other = schema === MART_SCHEMA ? all.find(({ name }) => name === table) : undefined;
      return other === undefined ? [`"${schema}"."${table}"`] : tablesIn(other, all);
    });
    expect(tablesIn(mart, all).toSorted(), mart.name).toEqual([...new Set(expected)].toSorted());
  }
});

// The files of a month have successive days and, except for the last, at least `FILE_ROWS` rows.
function expectDays(files: Snapshot['tables'][number]['files']): void {
  const months = new Set(files.map(({ path }) => dirname(path)));
  expect(files.length).toBeGreaterThan(months.size);
  for (const month of months) {
    const [...own] = files.filter(({ path }) => dirname(path) === month);
    expect(own.slice(0, -1).filter(({ rows }) => rows < FILE_ROWS)).toEqual([]);
    const days = own.flatMap(({ min, max }) => [min?.slice(0, 10), max?.slice(0, 10)]);
    expect(days).toEqual(days.toSorted());
    expect(new Set(own.map(({ min }) => min?.slice(0, 10))).size).toBe(own.length);
  }
}

function pathsOf({ tables }: Snapshot): string[] {
  return tables.flatMap(({ files }) => files.map(({ path }) => path)).toSorted();
}
