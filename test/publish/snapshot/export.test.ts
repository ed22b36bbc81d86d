import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SightlineError } from '../../../src/base/errors.ts';
import type { WarehouseTable } from '../../../src/contract/catalogue.ts';
import { isItemText } from '../../../src/contract/tables.ts';
import { type Layout, layoutOf } from '../../../src/publish/snapshot/layout.ts';
import { parquetColumns } from '../../../src/publish/snapshot/parquet.ts';
import { type ExportOptions, exportSnapshot, type Snapshot } from '../../../src/publish/snapshot/snapshot-export.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { SCHEMA_VERSION } from '../../../src/warehouse/schema.ts';
import { leapingClock } from '../../support/clocks.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { type OddWorkspace, openOddWorkspace } from './odd-workspace.ts';
import { hashes, lines, metadataOf, type ParquetReader, readers, typesOf, warehouseRows } from './readers.ts';

const CREATED_AT = '2026-11-20T02:15:00.750Z';
const ID = '20261120T021500Z';

// One workspace and one snapshot for all tests. Tests that change rows come last.
let workspace: OddWorkspace;
let layout: Layout;
let standard: Snapshot;

beforeAll(async () => {
  workspace = await openOddWorkspace();
  layout = layoutOf(join(workspace.folder, 'exported'));
  await mkdir(join(workspace.folder, 'exported'));
  standard = await take(layout);
});

afterAll(() => workspace.close());

function everyTable(): WarehouseTable[] {
  const { tables, histories } = workspace.catalogue;
  const stored = tables.map((table) => ({ ...table, columns: table.columns.filter((column) => !isItemText(column)) }));
  return [...stored, ...histories];
}

async function take(to: Layout, { at = CREATED_AT, ...changes }: Partial<ExportOptions> & { at?: string } = {}) {
  const { catalogue, database } = workspace;
  await publishAnalytics(database, to.analytics);
  const options = { compression: 'snappy', keep: null, signal: new AbortController().signal, ...changes };
  return exportSnapshot(database, catalogue, to, { clock: leapingClock(Date.parse(at)), ...options });
}

function filesOf({ path, tables }: Snapshot, name: string): string[] {
  return tables.find((table) => table.name === name)?.files.map((file) => join(path, file.path)) ?? [];
}

async function expectSameRows(snapshot: Snapshot, { name, digits, read }: ParquetReader): Promise<void> {
  const counts = new Map<string, number>();
  for (const table of everyTable()) {
    const rows = [];
    for (const file of filesOf(snapshot, table.name)) rows.push(...(await read(file, typesOf(table))));
    expect(lines(rows), `${table.name} as ${name} reads it`).toEqual(await warehouseRows(workspace, table, digits));
    counts.set(table.name, rows.length);
  }
  expect([...counts].filter(([, rows]) => rows === 0)).toEqual([['article_sources', 0]]);
  expect(counts.get('responses')).toBeGreaterThan(200);
}

describe('a snapshot', () => {
  test('in the standard form contains every row of every table, as hyparquet reads it', async () => {
    await expectSameRows(standard, readers.hyparquet);
    const [odd] = await workspace.query(`SELECT count(*) FILTER (_deleted_at IS NOT NULL) >= 5 AS deleted,
      count(*) FILTER (contains(prompt, chr(0))) AS nul, count(*) FILTER (epoch_us(created_at) % 1000 = 1) AS micro,
      count(*) FILTER (brand_sentiment IS NULL) > 0 AS without FROM responses`);
    expect(odd).toEqual({ deleted: true, nul: 1n, micro: 1n, without: true });
  });

  test('has dictionaries and bloom filters, unless it is compatible with readers that misread them, such as parquetjs-lite', async () => {
    const compatible = await take(layoutOf(await temporaryFolder()), { parquet: 'compatible' });
    await expectSameRows(compatible, readers.parquetjs);
    for (const snapshot of [standard, compatible]) {
      const metadata = await Promise.all(filesOf(snapshot, 'response_citations').map(metadataOf));
      const chunks = metadata.flatMap(({ row_groups: groups }) =>
        groups.flatMap(({ columns }) => columns.map((chunk) => chunk.meta_data)),
      );
      const named = (isOne: (chunk: (typeof chunks)[number]) => boolean): string[] =>
        [...new Set(chunks.filter(isOne).map((chunk) => String(chunk?.path_in_schema[0])))].filter((name) =>
          ['brand_id', 'engine', 'domain'].includes(name),
        );
      const expected = snapshot === standard ? ['brand_id', 'engine', 'domain'] : [];
      expect(named((chunk) => chunk?.encodings.some((encoding) => /DICTIONARY/.test(encoding)) === true)).toEqual(
        expected,
      );
      expect(named((chunk) => chunk?.bloom_filter_offset !== undefined)).toEqual(expected);
    }
  });

  test('contains exactly the files that its manifest lists', async () => {
    const { id, path } = standard;
    expect({ id, path }).toEqual({ id: ID, path: join(layout.snapshots, ID) });
    expect((await readdir(layout.snapshots)).sort()).toEqual([ID, 'latest']);
    expect(await readlink(layout.latest)).toBe(ID);
    const manifest = JSON.parse(await readFile(join(layout.latest, 'manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({ format: 1, id, createdAt: CREATED_AT, schemaVersion: SCHEMA_VERSION });
    const found = hashes(path);
    delete found['manifest.json'];
    const listed: Record<string, string> = {};
    for (const [index, table] of everyTable().entries()) {
      const described = manifest.tables[index];
      expect(described).toMatchObject({ name: table.name, about: table.about, columns: parquetColumns(table) });
      const month = table.time === undefined ? '' : 'month=(\\d{4}-\\d{2}|unknown)/';
      let [rows, bytes] = [0, 0];
      for (const file of described.files) {
        listed[file.path] = file.sha256;
        expect(file.path).toMatch(new RegExp(`^${table.name}/${month}${file.sha256.slice(0, 32)}\\.parquet$`));
        expect(file.bytes).toBe((await stat(join(path, file.path))).size);
        expect(file.rows).toBe(Number((await metadataOf(join(path, file.path))).num_rows));
        expect([file.min, file.max]).toEqual(await extremes(table.name, table.time, file.path));
        rows += file.rows;
        bytes += file.bytes;
      }
      expect(described).toMatchObject({ rows, bytes });
    }
    expect(listed).toEqual(found);
    const months = new Set(filesOf(standard, 'responses').map((file) => file.split('/').at(-2)));
    expect([...months].sort()).toEqual(['month=2026-02', 'month=2026-03', 'month=unknown']);
    expect(manifest.coverage.length).toBeGreaterThan(10);
    expect(manifest.coverage).toContainEqual({
      resource: 'responses',
      brandId: expect.any(String),
      from: expect.any(String),
      to: '2026-03-15',
      readSince: expect.stringMatching(/^2026-03-15T.*Z$/),
    });
  });

  test('has flat columns of widely supported types, also in empty tables', async () => {
    const physical: Record<string, string[]> = {
      VARCHAR: ['BYTE_ARRAY', 'UTF8'],
      BIGINT: ['INT64'],
      DOUBLE: ['DOUBLE'],
      BOOLEAN: ['BOOLEAN'],
      TIMESTAMPTZ: ['INT64', 'TIMESTAMP_MICROS', 'instant'],
      DATE: ['INT32', 'DATE'],
    };
    for (const table of everyTable()) {
      for (const file of filesOf(standard, table.name)) {
        const { schema, row_groups: groups } = await metadataOf(file);
        const columns = schema.slice(1).map((column) => {
          const { name, type, converted_type: converted, logical_type: logical } = column;
          expect(column.num_children ?? 0, `${table.name}.${name} is flat`).toBe(0);
          const isInstant = logical?.type === 'TIMESTAMP' && logical.isAdjustedToUTC;
          const of = converted === undefined || converted === 'INT_64' ? [] : [converted];
          return [name, type, ...of, ...(isInstant ? ['instant'] : [])];
        });
        expect(columns).toEqual(parquetColumns(table).map(({ name, type }) => [name, ...(physical[type] as string[])]));
        for (const { columns: chunks } of groups) {
          expect(new Set(chunks.map((chunk) => chunk.meta_data?.codec))).toEqual(new Set(['SNAPPY']));
        }
      }
    }
    const ids = everyTable()
      .flatMap(parquetColumns)
      .filter(({ name }) => /(^|_)id$/.test(name));
    expect(ids.length).toBeGreaterThan(20);
    expect(new Set(ids.map(({ type }) => type))).toEqual(new Set(['VARCHAR']));
    expect(standard.tables.find(({ name }) => name === 'article_sources')).toMatchObject({
      rows: 0,
      files: [{ rows: 0, min: null, max: null }],
    });
  });

  test('is smaller with zstd', async () => {
    const zstd = await take(layoutOf(await temporaryFolder()), { compression: 'zstd' });
    const bytesOf = ({ tables }: Snapshot) => tables.find(({ name }) => name === 'responses')?.bytes ?? 0;
    expect(bytesOf(zstd)).toBeLessThan(bytesOf(standard));
    for (const file of filesOf(zstd, 'responses')) {
      const { row_groups: groups } = await metadataOf(file);
      const codecs = groups.flatMap(({ columns }) => columns.map((chunk) => chunk.meta_data?.codec));
      expect(new Set(codecs)).toEqual(new Set(['ZSTD']));
    }
  });

  test('gets a unique id even within one second, and has the same files if nothing has changed', async () => {
    const ids: string[] = [];
    for (const at of [CREATED_AT, CREATED_AT, '2026-11-21T00:00:00Z']) {
      const { id, path } = await take(layout, { at });
      ids.push(id);
      expect(await readlink(layout.latest)).toBe(id);
      expect(JSON.parse(await readFile(join(path, 'manifest.json'), 'utf8'))).toMatchObject({ id });
      const [before, after] = [hashes(standard.path), hashes(path)];
      expect({ ...after, 'manifest.json': '' }).toEqual({ ...before, 'manifest.json': '' });
    }
    expect(ids).toEqual([`${ID}-2`, `${ID}-3`, '20261121T000000Z']);
  });
});

describe('an interrupted export', () => {
  test.each(['responses', 'article_sources'])('at the table %s leaves the last snapshot in place', async (stopAt) => {
    const [names, last] = [await readdir(layout.snapshots), await readlink(layout.latest)];
    const before = hashes(layout.latest);
    const stop = new AbortController();
    const reason = new SightlineError('interrupted', 'stopped');
    const onProgress = ({ table }: { table: string }): void => {
      if (table === stopAt) stop.abort(reason);
    };
    await expect(take(layout, { signal: stop.signal, onProgress })).rejects.toBe(reason);
    expect(await readdir(layout.snapshots)).toEqual(names);
    expect(await readlink(layout.latest)).toBe(last);
    expect(hashes(layout.latest)).toEqual(before);
  });

  test('leaves only temporary files, which the next export removes', async () => {
    const { snapshots, latest } = layout;
    const names = await readdir(snapshots);
    await mkdir(join(snapshots, '.new-4711', 'responses'), { recursive: true });
    await writeFile(join(snapshots, '.new-4711', 'responses', 'aside.parquet'), 'PAR1');
    await symlink('20000101T000000Z', join(snapshots, '.4711-1-link'));
    await mkdir(join(snapshots, 'bi-link', 'precious'), { recursive: true });
    const next = await take(layout);
    expect((await readdir(snapshots)).sort()).toEqual([...names, next.id, 'bi-link'].sort());
    expect(await readlink(latest)).toBe(next.id);
  });
});

describe('an export fails with folder_unwritable', () => {
  test('if a file is in the place of the snapshots folder', async () => {
    const { snapshots, ...others } = layoutOf(await temporaryFolder());
    await writeFile(snapshots, 'a file');
    await expect(take({ snapshots, ...others })).rejects.toMatchObject({
      code: 'folder_unwritable',
      message: expect.stringContaining(snapshots),
    });
    expect(await readFile(snapshots, 'utf8')).toBe('a file');
  });

  test('if a folder is in the place of the symlink `latest`, until it is moved away', async () => {
    const { snapshots, latest } = layout;
    await rm(latest);
    await mkdir(join(latest, 'precious'), { recursive: true });
    await expect(take(layout)).rejects.toMatchObject({
      code: 'folder_unwritable',
      message: expect.stringContaining(latest),
    });
    expect((await readdir(snapshots)).filter((name) => name.startsWith('.'))).toEqual([]);
    expect(existsSync(join(latest, 'precious'))).toBe(true);
    await rm(latest, { recursive: true });
    await symlink(standard.id, latest);
    const { id } = await take(layout);
    expect(await readlink(latest)).toBe(id);
  });
});

describe('a snapshot after changes of rows', () => {
  test('has one new file if one row has changed, and the earlier snapshot stays', async () => {
    const before = hashes(standard.path);
    await workspace.run(
      "UPDATE responses SET prompt = 'edited' WHERE id = (SELECT max(id) FROM responses WHERE created_at < TIMESTAMP '2026-03-01')",
    );
    const after = hashes((await take(layout)).path);
    const changed = Object.keys(after).filter((file) => !(file in before));
    expect(changed.map(dirname)).toEqual(['responses/month=2026-02']);
    expect(hashes(standard.path)).toEqual(before);
  });

  test('declares the order of the rows of each file: facts by brand and time, all others by key', async () => {
    await workspace.run(
      `INSERT INTO responses SELECT * REPLACE (uuid() AS id, CAST(md5(CAST(id AS VARCHAR)) AS UUID) AS brand_id)
       FROM responses WHERE created_at >= TIMESTAMP '2026-03-01'`,
    );
    const { path, tables } = await take(layout);
    const sortedBy = (name: string) => tables.find((table) => table.name === name)?.sortedBy;
    expect(sortedBy('responses')).toEqual(['brand_id', 'created_at', 'id']);
    expect(sortedBy('response_citations')?.slice(0, 2)).toEqual(['brand_id', 'created_at']);
    expect(sortedBy('prompts')).toEqual(['brand_id', 'id']);
    for (const { name, files, sortedBy: columns = [] } of tables) {
      const list = columns.map((column) => `"${column}"`).join(', ');
      for (const { path: file } of files) {
        const { key_value_metadata: metadata } = await metadataOf(join(path, file));
        expect(metadata?.find(({ key }) => key === 'sorted_by')?.value).toBe(JSON.stringify(columns));
        const rows = `SELECT row(${list}) AS r, lag(row(${list})) OVER (ORDER BY file_row_number) AS before
          FROM read_parquet('${join(path, file)}', file_row_number = true, hive_partitioning = false)`;
        expect(await workspace.query(`SELECT count(*) AS n FROM (${rows}) WHERE before > r`), name).toEqual([
          { n: 0n },
        ]);
      }
    }
  });
});

async function extremes(table: string, time: string | undefined, path: string) {
  if (time === undefined) return [null, null];
  const month = /month=([^/]+)/.exec(path)?.[1];
  const where = month === 'unknown' ? `${time} IS NULL` : `strftime(${time}, '%Y-%m') = '${month}'`;
  const [row] = await workspace.query(
    `SELECT epoch_us(min(${time})) AS min, epoch_us(max(${time})) AS max FROM "${table}" WHERE ${where}`,
  );
  return [iso(row?.['min']), iso(row?.['max'])];
}

function iso(micros: unknown): string | null {
  if (typeof micros !== 'bigint') return null;
  const rest = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const second = new Date(Number((micros - rest) / 1000n)).toISOString().slice(0, 19);
  return `${second}.${String(rest).padStart(6, '0')}Z`;
}
