import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { SightlineError } from '../../src/base/errors.ts';
import type { WarehouseTable } from '../../src/contract/catalogue.ts';
import { type Layout, layoutOf } from '../../src/snapshot/layout.ts';
import { parquetColumns } from '../../src/snapshot/parquet.ts';
import { type ExportOptions, exportSnapshot, type Snapshot } from '../../src/snapshot/snapshot-export.ts';
import { SCHEMA_VERSION } from '../../src/warehouse/schema.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type OddWorkspace, openOddWorkspace } from './odd-workspace.ts';
import { hashes, lines, metadataOf, readers, typesOf, warehouseRows } from './readers.ts';

// One workspace for all tests; each test exports to a folder of its own.
let workspace: OddWorkspace;

beforeAll(async () => {
  workspace = await openOddWorkspace();
});

afterAll(() => workspace.close());

function everyTable(): WarehouseTable[] {
  return [...workspace.catalogue.tables, ...workspace.catalogue.histories];
}

function clockAt(time: string): Clock {
  return { now: () => Date.parse(time), monotonic: () => 0, sleep: () => Promise.resolve(), random: () => 0 };
}

function take(layout: Layout, changes: Partial<ExportOptions> = {}): Promise<Snapshot> {
  const { clock, catalogue, database } = workspace;
  const options = { compression: 'snappy', keep: null, clock, signal: new AbortController().signal, ...changes };
  return exportSnapshot(database, catalogue, layout, options);
}

describe('a snapshot', () => {
  test.each([
    { parquet: 'standard', by: ['hyparquet'] },
    // parquetjs-lite misreads dictionaries.
    { parquet: 'compatible', by: ['hyparquet', 'parquetjs-lite'] },
  ] as const)('in the form $parquet contains every row of every table, as read by $by', async ({ parquet, by }) => {
    const layout = layoutOf(await temporaryFolder());
    const { path, tables } = await take(layout, { parquet });
    const compared: Record<string, number> = {};
    for (const table of everyTable()) {
      const files = tables.find(({ name }) => name === table.name)?.files ?? [];
      for (const { name, digits, read } of readers.filter((reader) => by.includes(reader.name as 'hyparquet'))) {
        const rows = [];
        for (const file of files) rows.push(...(await read(join(path, file.path), typesOf(table))));
        expect(lines(rows), `${table.name} as ${name} reads it`).toEqual(await warehouseRows(workspace, table, digits));
        compared[table.name] = rows.length;
      }
    }
    // Makes sure that the comparison covered tables with rows and unusual values.
    expect(Object.values(compared).filter((rows) => rows > 0).length).toBe(everyTable().length - 1);
    expect(compared['article_sources']).toBe(0);
    expect(compared['responses']).toBeGreaterThan(200);
    const [odd] = await workspace.query(`SELECT count(*) FILTER (_deleted_at IS NOT NULL) AS deleted,
      count(*) FILTER (contains(prompt, chr(0))) AS nul, count(*) FILTER (epoch_us(created_at) % 1000 = 1) AS micro,
      count(*) FILTER (brand_sentiment IS NULL) AS without FROM responses`);
    expect(odd).toEqual({ deleted: expect.any(BigInt), nul: 1n, micro: 1n, without: expect.any(BigInt) });
    expect(Number(odd?.['deleted'])).toBeGreaterThanOrEqual(5);
    expect(Number(odd?.['without'])).toBeGreaterThan(0);
  });

  test('contains exactly the files that its manifest lists', async () => {
    const layout = layoutOf(await temporaryFolder());
    const { id, path } = await take(layout, { clock: clockAt('2026-11-20T02:15:00.750Z') });
    expect(id).toBe('20261120T021500Z');
    expect(path).toBe(join(layout.snapshots, id));
    expect((await readdir(layout.snapshots)).sort()).toEqual([id, 'latest']);
    expect(await readlink(layout.latest)).toBe(id);
    const manifest = JSON.parse(await readFile(join(layout.latest, 'manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({
      format: 1,
      id,
      createdAt: '2026-11-20T02:15:00.750Z',
      schemaVersion: SCHEMA_VERSION,
    });
    const found = hashes(path);
    delete found['manifest.json'];
    const listed: Record<string, string> = {};
    for (const [index, table] of everyTable().entries()) {
      const described = manifest.tables[index];
      expect(described).toMatchObject({ name: table.name, about: table.about, columns: parquetColumns(table) });
      let rows = 0;
      let bytes = 0;
      for (const file of described.files) {
        listed[file.path] = file.sha256;
        expect(file.path).toMatch(
          table.time === undefined
            ? /^\w+\/[0-9a-f]{32}\.parquet$/
            : /^\w+\/month=(\d{4}-\d{2}|unknown)\/[0-9a-f]{32}\.parquet$/,
        );
        expect(file.path.split('/')[0]).toBe(table.name);
        expect(file.path.split('/').at(-1)).toBe(`${file.sha256.slice(0, 32)}.parquet`);
        expect(file.bytes).toBe((await stat(join(path, file.path))).size);
        expect(file.rows).toBe(Number((await metadataOf(join(path, file.path))).num_rows));
        expect([file.min, file.max]).toEqual(await extremes(table.name, table.time, file.path));
        rows += file.rows;
        bytes += file.bytes;
      }
      expect(described).toMatchObject({ rows, bytes });
    }
    expect(listed).toEqual(found);
    const months = new Set(
      Object.keys(found)
        .filter((file) => file.startsWith('responses/'))
        .map((file) => file.split('/')[1]),
    );
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
    const layout = layoutOf(await temporaryFolder());
    const { path, tables } = await take(layout);
    const physical: Record<string, string[]> = {
      VARCHAR: ['BYTE_ARRAY', 'UTF8'],
      BIGINT: ['INT64'],
      DOUBLE: ['DOUBLE'],
      BOOLEAN: ['BOOLEAN'],
      TIMESTAMPTZ: ['INT64', 'TIMESTAMP_MICROS', 'instant'],
      DATE: ['INT32', 'DATE'],
    };
    for (const table of everyTable()) {
      for (const file of tables.find(({ name }) => name === table.name)?.files ?? []) {
        const { schema, row_groups: groups } = await metadataOf(join(path, file.path));
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
    expect(tables.find(({ name }) => name === 'article_sources')).toMatchObject({
      rows: 0,
      files: [{ rows: 0, min: null, max: null }],
    });
  });

  test('has dictionaries and bloom filters, unless it is compatible with readers that misread them', async () => {
    const layout = layoutOf(await temporaryFolder());
    for (const parquet of ['standard', 'compatible'] as const) {
      const { path, tables } = await take(layout, { parquet });
      const chunks: Awaited<ReturnType<typeof metadataOf>>['row_groups'][number]['columns'][number]['meta_data'][] = [];
      for (const { path: file } of tables.find(({ name }) => name === 'response_citations')?.files ?? []) {
        const { row_groups: groups } = await metadataOf(join(path, file));
        chunks.push(...groups.flatMap(({ columns }) => columns.map((chunk) => chunk.meta_data)));
      }
      const named = (isOne: (chunk: (typeof chunks)[number]) => boolean): string[] =>
        [...new Set(chunks.filter(isOne).map((chunk) => String(chunk?.path_in_schema[0])))].filter((name) =>
          ['brand_id', 'engine', 'domain'].includes(name),
        );
      const expected = parquet === 'standard' ? ['brand_id', 'engine', 'domain'] : [];
      expect(named((chunk) => chunk?.encodings.some((encoding) => /DICTIONARY/.test(encoding)) === true)).toEqual(
        expected,
      );
      expect(named((chunk) => chunk?.bloom_filter_offset !== undefined)).toEqual(expected);
    }
  });

  test('declares the order of the rows of each file: facts by brand and time, all others by key', async () => {
    await workspace.run(
      `INSERT INTO responses SELECT * REPLACE (uuid() AS id, CAST(md5(CAST(id AS VARCHAR)) AS UUID) AS brand_id)
       FROM responses WHERE created_at >= TIMESTAMP '2026-03-01'`,
    );
    const { path, tables } = await take(layoutOf(await temporaryFolder()));
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
    const [brands] = await workspace.query(`SELECT count(DISTINCT brand_id) AS n FROM responses`);
    expect(Number(brands?.['n'])).toBeGreaterThan(10);
  });

  test('has the same files if nothing has changed, and one new file if one row has', async () => {
    const layout = layoutOf(await temporaryFolder());
    const first = await take(layout, { clock: clockAt('2026-03-16T00:00:00Z') });
    const second = await take(layout, { clock: clockAt('2026-03-17T00:00:00Z') });
    const [before, after] = [hashes(first.path), hashes(second.path)];
    expect(Object.keys(after)).toEqual(Object.keys(before));
    delete before['manifest.json'];
    delete after['manifest.json'];
    expect(after).toEqual(before);
    await workspace.run(
      "UPDATE responses SET prompt = 'edited' WHERE id = (SELECT max(id) FROM responses WHERE created_at < TIMESTAMP '2026-03-01')",
    );
    const third = hashes((await take(layout, { clock: clockAt('2026-03-18T00:00:00Z') })).path);
    const changed = Object.keys(third).filter((file) => !(file in before) && file !== 'manifest.json');
    expect(changed.map(dirname)).toEqual(['responses/month=2026-02']);
    expect(await readlink(layout.latest)).toBe('20260318T000000Z');
    expect(hashes(first.path)).toMatchObject(before);
  });

  test('gets a unique id even within one second', async () => {
    const layout = layoutOf(await temporaryFolder());
    const clock = clockAt('2026-03-16T00:00:00Z');
    const ids = [];
    for (let time = 0; time < 3; time++) ids.push((await take(layout, { clock })).id);
    expect(ids).toEqual(['20260316T000000Z', '20260316T000000Z-2', '20260316T000000Z-3']);
    expect(await readlink(layout.latest)).toBe('20260316T000000Z-3');
    for (const id of ids) {
      const manifest = await readFile(join(layout.snapshots, id, 'manifest.json'), 'utf8');
      expect(JSON.parse(manifest)).toMatchObject({ id });
    }
  });

  test('is smaller with zstd and has the same rows', async () => {
    const layout = layoutOf(await temporaryFolder());
    const snappy = await take(layout);
    const zstd = await take(layout, { compression: 'zstd' });
    const { name, files, bytes } = zstd.tables.find(
      (table) => table.name === 'responses',
    ) as Snapshot['tables'][number];
    expect(bytes).toBeLessThan(snappy.tables.find((table) => table.name === name)?.bytes ?? 0);
    for (const file of files) {
      const { row_groups: groups } = await metadataOf(join(zstd.path, file.path));
      expect(new Set(groups.flatMap(({ columns }) => columns.map((chunk) => chunk.meta_data?.codec)))).toEqual(
        new Set(['ZSTD']),
      );
    }
    const source = (path: string) =>
      `SELECT * FROM read_parquet('${path}/responses/*/*.parquet', hive_partitioning = false)`;
    const difference = `(${source(zstd.path)} EXCEPT ALL ${source(snappy.path)})`;
    expect(await workspace.query(`SELECT count(*) AS n FROM ${difference}`)).toEqual([{ n: 0n }]);
    expect(await workspace.query(`SELECT count(*) AS n FROM (${source(zstd.path)})`)).toEqual(
      await workspace.query('SELECT count(*) AS n FROM responses'),
    );
  });
});

describe('an interrupted export', () => {
  test.each(['responses', 'article_sources'])('at the table %s leaves the last snapshot in place', async (stopAt) => {
    const layout = layoutOf(await temporaryFolder());
    const last = await take(layout);
    const before = hashes(last.path);
    const stop = new AbortController();
    const reason = new SightlineError('interrupted', 'stopped');
    const onProgress = ({ table }: { table: string }): void => {
      if (table === stopAt) stop.abort(reason);
    };
    await expect(take(layout, { signal: stop.signal, onProgress })).rejects.toBe(reason);
    const { snapshots, latest } = layout;
    expect((await readdir(snapshots)).sort()).toEqual([last.id, 'latest']);
    expect(await readlink(latest)).toBe(last.id);
    expect(hashes(latest.replace(/latest$/, last.id))).toEqual(before);
  });

  test('leaves only temporary files, which the next export removes', async () => {
    const layout = layoutOf(await temporaryFolder());
    const { snapshots, latest } = layout;
    const { id } = await take(layout);
    await mkdir(join(snapshots, '.new-4711', 'responses'), { recursive: true });
    await writeFile(join(snapshots, '.new-4711', 'responses', 'aside.parquet'), 'PAR1');
    await symlink('20000101T000000Z', join(snapshots, '.4711-1-link'));
    await mkdir(join(snapshots, 'bi-link', 'precious'), { recursive: true });
    const next = await take(layout);
    expect((await readdir(snapshots)).sort()).toEqual([id, next.id, 'bi-link', 'latest'].sort());
    expect(await readlink(latest)).toBe(next.id);
  });
});

describe('an export fails with folder_unwritable', () => {
  test('if a file is in the place of the snapshots folder', async () => {
    const layout = layoutOf(await temporaryFolder());
    const { snapshots } = layout;
    await writeFile(snapshots, 'a file');
    await expect(take(layout)).rejects.toMatchObject({
      code: 'folder_unwritable',
      message: expect.stringContaining(snapshots),
    });
    expect(await readFile(snapshots, 'utf8')).toBe('a file');
  });

  test('if a folder is in the place of the symlink `latest`', async () => {
    const layout = layoutOf(await temporaryFolder());
    const { snapshots, latest } = layout;
    await mkdir(join(latest, 'precious'), { recursive: true });
    await expect(take(layout)).rejects.toMatchObject({
      code: 'folder_unwritable',
      message: expect.stringContaining(latest),
    });
    expect((await readdir(snapshots)).filter((name) => name.startsWith('.'))).toEqual([]);
    expect(existsSync(join(latest, 'precious'))).toBe(true);
    await rm(latest, { recursive: true });
    expect(await readlink(latest).catch(() => null)).toBe(null);
    const { id } = await take(layout);
    expect(await readlink(latest)).toBe(id);
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
