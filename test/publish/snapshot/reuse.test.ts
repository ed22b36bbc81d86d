import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { WarehouseTable } from '../../../src/contract/catalogue.ts';
import type { Column } from '../../../src/contract/tables.ts';
import { fingerprintOf } from '../../../src/publish/snapshot/fingerprint.ts';
import { type Layout, layoutOf } from '../../../src/publish/snapshot/layout.ts';
import type { SnapshotFile } from '../../../src/publish/snapshot/manifest.ts';
import { copyPart, formOf, settlePart } from '../../../src/publish/snapshot/parquet.ts';
import { type Part, partsOf } from '../../../src/publish/snapshot/parts.ts';
import { isTurnOf } from '../../../src/publish/snapshot/reuse.ts';
import { type ExportOptions, exportSnapshot, type Snapshot } from '../../../src/publish/snapshot/snapshot-export.ts';
import type { Session } from '../../../src/warehouse/database.ts';
import { publishAnalytics } from '../../../src/warehouse/replica.ts';
import { openScratch } from '../../../src/warehouse/scratch.ts';
import { leapingClock } from '../../support/clocks.ts';
import { IS_ENDURANCE } from '../../support/counts.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { type OddWorkspace, openOddWorkspace } from './odd-workspace.ts';
import { hashes } from './readers.ts';

// One workspace and one snapshot for all tests, which work on copies of the snapshot.
let workspace: OddWorkspace;
let first: Snapshot;

beforeAll(async () => {
  workspace = await openOddWorkspace();
  first = await take(layoutOf(workspace.folder), 0);
});

afterAll(() => workspace.close());

const DAY_MS = 86_400_000;

function timeOf(day: number): number {
  return Date.parse('2026-03-16T00:00:00Z') + day * DAY_MS;
}

async function take(layout: Layout, day: number, changes: Partial<ExportOptions> = {}): Promise<Snapshot> {
  await publishAnalytics(workspace.database, layout.analytics);
  const options = { compression: 'snappy', keep: null, signal: new AbortController().signal, ...changes };
  return exportSnapshot(workspace.database, workspace.catalogue, layout, {
    clock: leapingClock(timeOf(day)),
    ...options,
  });
}

function filesOf({ tables }: Snapshot): SnapshotFile[] {
  return tables.flatMap(({ files }) => files).sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Copies the first snapshot into a folder, as its latest. */
async function copyFirst(folder?: string): Promise<{ layout: Layout; copy: string }> {
  const layout = layoutOf(await temporaryFolder());
  const copy = folder ?? join(layout.snapshots, first.id);
  await mkdir(layout.snapshots, { recursive: true });
  await cp(first.path, copy, { recursive: true, preserveTimestamps: true });
  await symlink(copy, layout.latest);
  return { layout, copy };
}

describe('files whose rows have not changed', () => {
  test('are written again if the compression, column types, comments or the writer change', async () => {
    const { layout } = await copyFirst();
    expect((await take(layout, 1, { compression: 'zstd' })).written.files).toBe(filesOf(first).length);
    const table = workspace.catalogue.tables[0] as WarehouseTable;
    const change = (changes: Partial<Column>): WarehouseTable => ({
      ...table,
      columns: table.columns.map((column, index) => (index === 0 ? { ...column, ...changes } : column)),
    });
    const forms = [table, change({ kind: 'integer' }), change({ about: 'Otherwise.' })].map((of) =>
      formOf(of, { compression: 'snappy' }, 'v1'),
    );
    expect(new Set([...forms, formOf(table, { compression: 'snappy' }, 'v2')]).size).toBe(4);
  });

  test('are copied if the previous snapshot is on another file system', async (context) => {
    const { dev } = await stat(first.path);
    const elsewhere = ['/dev/shm', '/tmp', '/var/tmp', homedir()].find((folder) => canHold(folder, dev));
    if (elsewhere === undefined) return context.skip('NOT TRIED: no second file system with a writable folder');
    const folder = await mkdtemp(join(elsewhere, 'sightline-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const { layout } = await copyFirst(join(folder, first.id));
    const second = await take(layout, 1);
    expect(second.written.files).toBe(0);
    expect({ ...hashes(second.path), 'manifest.json': '' }).toEqual({ ...hashes(first.path), 'manifest.json': '' });
    expect((await stat(join(second.path, filesOf(second)[0]?.path ?? ''))).nlink).toBe(1);
  });
});

describe('a damaged file of the previous snapshot', () => {
  const flip = async (path: string): Promise<void> => {
    const bytes = await readFile(path);
    bytes[100] = (bytes[100] as number) ^ 1;
    await writeFile(path, bytes);
  };

  /** Copies the first snapshot and damages one file in each way. */
  async function damaged(...ways: readonly ((path: string) => Promise<void>)[]) {
    const files = filesOf(first).filter(({ path }) => path.startsWith('response'));
    const { layout, copy } = await copyFirst();
    for (const [index, damage] of ways.entries()) {
      const path = join(copy, (files[index] as SnapshotFile).path);
      await chmod(path, 0o644);
      await damage(path);
    }
    const isDue = (day: number): boolean => files.slice(0, ways.length).some((file) => isTurnOf(file, timeOf(day)));
    const [[due], others] = partition([1, 2, 3, 4, 5, 6, 7], isDue);
    return { layout, due: due as number, other: others[0] as number };
  }

  test('that is missing, shorter or was modified is written again, also on a day without a full check of the file', async () => {
    const shorten = async (path: string): Promise<void> => writeFile(path, (await readFile(path)).subarray(1));
    const { layout, other } = await damaged((path) => rm(path), shorten, flip);
    const second = await take(layout, other);
    expect(second.written.files).toBe(3);
    expect({ ...hashes(second.path), 'manifest.json': '' }).toEqual({ ...hashes(first.path), 'manifest.json': '' });
  });

  test('with its original size and modification time is found on one day of each week', async () => {
    const { layout, due, other } = await damaged(async (path) => {
      const { atime, mtime } = await stat(path);
      await flip(path);
      await utimes(path, atime, mtime);
    });
    expect((await take(layout, other)).written.files).toBe(0);
    expect((await take(layout, due)).written.files).toBe(1);
  });

  test('that is the manifest causes all files to be written again', async () => {
    const { layout, copy } = await copyFirst();
    await writeFile(join(copy, 'manifest.json'), '{"format": 1, "id": 7');
    expect((await take(layout, 1)).written.files).toBe(filesOf(first).length);
  });
});

describe('the fingerprint of a part', () => {
  test('changes with every column and with added, duplicate and deleted rows', async () => {
    const undo = new Error('undo');
    // Tables that together have every kind of column; all tables in `npm run test:endurance`.
    const kinds = new Set<string>();
    const tables = [...workspace.catalogue.tables, ...workspace.catalogue.histories].filter(({ columns }) => {
      const before = kinds.size;
      for (const { kind } of columns) kinds.add(kind);
      return IS_ENDURANCE || kinds.size > before;
    });
    expect(kinds.size).toBe(8);
    for (const table of tables) {
      const work = workspace.database.transaction(async (session) => {
        const name = `"${table.name}"`;
        const [row] = await session.all(`SELECT min(rowid) AS id FROM ${name}`);
        if (row?.['id'] === null) throw undo;
        const seen = new Set([await printsOf(session, table)]);
        for (const column of table.columns) {
          await session.run(`UPDATE ${name} SET "${column.name}" = ${other(column)} WHERE rowid = ${row?.['id']}`);
          seen.add(await printsOf(session, table));
        }
        await session.run(`INSERT INTO ${name} SELECT * FROM ${name} WHERE rowid = ${row?.['id']}`);
        seen.add(await printsOf(session, table));
        await session.run(`INSERT INTO ${name} SELECT * FROM ${name} WHERE rowid = ${row?.['id']}`);
        seen.add(await printsOf(session, table));
        await session.run(`DELETE FROM ${name}`);
        seen.add(await printsOf(session, table));
        expect(seen.size, table.name).toBe(table.columns.length + 4);
        throw undo;
      });
      await expect(work).rejects.toBe(undo);
    }
  });

  test('does not depend on the order of rows', async () => {
    const undo = new Error('undo');
    const table = workspace.catalogue.tables.find(({ name }) => name === 'responses') as WarehouseTable;
    const work = workspace.database.transaction(async (session) => {
      const before = await printsOf(session, table);
      await session.run('CREATE TEMP TABLE shuffled AS SELECT * FROM responses ORDER BY hash(id)');
      await session.run('DELETE FROM responses');
      // An empty table has a part too.
      expect(await printsOf(session, table)).toMatch(/^responses\/month=2026-03 \w+$/);
      await session.run('INSERT INTO responses SELECT * FROM shuffled');
      expect(await printsOf(session, table)).toBe(before);
      throw undo;
    });
    await expect(work).rejects.toBe(undo);
  });
});

test('a Parquet file is rejected if the rows read back differ from those of the warehouse', async () => {
  const folder = await temporaryFolder();
  const scratch = await openScratch({ memoryLimitMb: 64, temporaryFolder: join(folder, 'temporary') });
  onTestFinished(() => scratch.close());
  const declared = workspace.catalogue.tables.find(({ name }) => name === 'responses') as WarehouseTable;
  const table = { ...declared, source: 'responses' };
  await workspace.database.transaction(async (session) => {
    const [part] = await partsOf(session, table, { month: '2026-03' });
    const { sums } = part as Part;
    const write = async (wrong: Partial<Part['sums']>): Promise<boolean> => {
      const tried = { ...(part as Part), sums: { ...sums, ...wrong } };
      const aside = await copyPart(session, table, tried, folder, { compression: 'snappy' });
      const { path } = await settlePart(scratch, table, tried, folder, aside);
      return existsSync(join(folder, path));
    };
    for (const wrong of [{ rows: sums.rows + 1 }, { max: null }, { sum: '1' }, { xor: '1' }]) {
      await expect(write(wrong)).rejects.toMatchObject({
        code: 'internal',
        message: expect.stringContaining('differ from those written'),
      });
    }
    expect(await write({})).toBe(true);
  });
});

// The last test, because it changes rows.
test('files whose rows have not changed are hard links to the previous snapshot and survive its deletion', async () => {
  const { layout, copy } = await copyFirst();
  await workspace.run(
    'UPDATE responses SET _run_id = uuid() WHERE created_at = (SELECT min(created_at) FROM responses)',
  );
  const second = await take(layout, 1);
  const known = filesOf(first).map(({ path }) => path);
  const changed = filesOf(second).filter(({ path }) => !known.includes(path));
  expect(changed).toEqual([expect.objectContaining({ path: expect.stringMatching(/^responses\/month=2026-02\//) })]);
  expect(second.written).toEqual({ files: 1, bytes: changed[0]?.bytes });
  for (const { path } of filesOf(second)) {
    const { ino, nlink } = await stat(join(second.path, path));
    const isNew = path === changed[0]?.path;
    expect(nlink).toBe(isNew ? 1 : 2);
    if (!isNew) expect(ino).toBe((await stat(join(copy, path))).ino);
  }
  const before = hashes(second.path);
  await rm(copy, { recursive: true });
  expect(hashes(second.path)).toEqual(before);
  expect((await take(layout, 2)).written.files).toBe(0);
});

function partition(days: readonly number[], isFirst: (day: number) => boolean): [number[], number[]] {
  return [days.filter(isFirst), days.filter((day) => !isFirst(day))];
}

/** Whether a folder is writable and on another file system. */
function canHold(folder: string, dev: number): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return statSync(folder).dev !== dev;
  } catch {
    return false;
  }
}

async function printsOf(session: Session, table: WarehouseTable): Promise<string> {
  const parts = await partsOf(session, { ...table, source: `"${table.name}"` }, { month: '2026-03' });
  return parts.map(({ folder, sums }) => `${folder} ${fingerprintOf('form', sums)}`).join(' ');
}

function other({ name, kind }: Column): string {
  const column = `"${name}"`;
  switch (kind) {
    case 'uuid':
      return 'uuid()';
    case 'text':
      return `coalesce(${column}, '') || 'x'`;
    case 'json':
      return `CASE WHEN ${column} IS NULL THEN '{}' ELSE NULL END`;
    case 'integer':
    case 'number':
      return `CASE WHEN ${column} IS NULL THEN 0 WHEN ${column} = 1 THEN 2 ELSE 1 END`;
    case 'boolean':
      return `${column} IS NOT true`;
    case 'timestamp':
      return `coalesce(${column}, TIMESTAMP '2026-03-01') + INTERVAL 1 MICROSECOND`;
    case 'day':
      return `coalesce(${column}, DATE '2026-03-01') + 1`;
  }
}
