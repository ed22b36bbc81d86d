import { existsSync } from 'node:fs';
import { chmod, cp, mkdtemp, readFile, rm, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import type { WarehouseTable } from '../../src/contract/catalogue.ts';
import type { Column } from '../../src/contract/tables.ts';
import { fingerprintOf } from '../../src/snapshot/fingerprint.ts';
import { type Layout, layoutOf } from '../../src/snapshot/layout.ts';
import { copyPart, formOf, settlePart } from '../../src/snapshot/parquet.ts';
import { type Part, partsOf } from '../../src/snapshot/parts.ts';
import { type ExportOptions, exportSnapshot, type Snapshot } from '../../src/snapshot/snapshot-export.ts';
import type { Session } from '../../src/warehouse/database.ts';
import { openScratch } from '../../src/warehouse/scratch.ts';
import { temporaryFolder } from '../support/folders.ts';
import { type OddWorkspace, openOddWorkspace } from './odd-workspace.ts';
import { hashes } from './readers.ts';

let workspace: OddWorkspace;

beforeAll(async () => {
  workspace = await openOddWorkspace();
});

afterAll(() => workspace.close());

const DAY_MS = 86_400_000;

// On these days the file that the tests damage is not due for a full check, so that each test finds the damage in its
// own way.
function clockOn(day: number): Clock {
  const now = Date.parse('2026-03-16T00:00:00Z') + day * DAY_MS;
  return { now: () => now, monotonic: () => 0, sleep: () => Promise.resolve(), random: () => 0 };
}

function take(layout: Layout, day: number, changes: Partial<ExportOptions> = {}): Promise<Snapshot> {
  const options = { compression: 'snappy', keep: null, signal: new AbortController().signal, ...changes };
  return exportSnapshot(workspace.database, workspace.catalogue, layout, { clock: clockOn(day), ...options });
}

function filesOf({ tables }: Snapshot): string[] {
  return tables.flatMap(({ files }) => files.map(({ path }) => path)).sort();
}

function fileOf(snapshot: Snapshot, part: string): string {
  return join(snapshot.path, filesOf(snapshot).find((path) => path.startsWith(part)) ?? 'none');
}

describe('files whose rows have not changed', () => {
  test('are hard links to the previous snapshot and survive its deletion', async () => {
    const layout = layoutOf(await temporaryFolder());
    const first = await take(layout, 0);
    expect(first.written.files).toBe(filesOf(first).length);
    await workspace.run(
      'UPDATE responses SET _run_id = uuid() WHERE created_at = (SELECT min(created_at) FROM responses)',
    );
    const second = await take(layout, 1);
    const changed = filesOf(second).filter((path) => !filesOf(first).includes(path));
    expect(changed).toEqual([expect.stringMatching(/^responses\/month=2026-02\//)]);
    expect(second.written).toEqual({ files: 1, bytes: (await stat(join(second.path, changed[0] as string))).size });
    for (const path of filesOf(second)) {
      const { ino, nlink } = await stat(join(second.path, path));
      const isNew = changed.includes(path);
      expect(nlink).toBe(isNew ? 1 : 2);
      if (!isNew) expect(ino).toBe((await stat(join(first.path, path))).ino);
    }
    const before = hashes(second.path);
    await rm(first.path, { recursive: true });
    expect(hashes(second.path)).toEqual(before);
    expect((await take(layout, 2)).written.files).toBe(0);
  });

  test('are written again if the compression, column types, comments or the writer change', async () => {
    const layout = layoutOf(await temporaryFolder());
    const first = await take(layout, 0);
    const second = await take(layout, 1, { compression: 'zstd' });
    expect(second.written.files).toBe(filesOf(first).length);
    const { columns } = first.tables[0] ?? {};
    expect(columns?.length).toBeGreaterThan(3);
    const table = workspace.catalogue.tables[0] as WarehouseTable;
    const retyped = table.columns.map(
      (column, index): Column => (index === 0 ? { ...column, kind: 'integer' } : column),
    );
    const retold = table.columns.map((column, index) => (index === 0 ? { ...column, about: 'Otherwise.' } : column));
    const forms = [table, { ...table, columns: retyped }, { ...table, columns: retold }].map((of) =>
      formOf(of, { compression: 'snappy' }, 'v1'),
    );
    expect(new Set([...forms, formOf(table, { compression: 'snappy' }, 'v2')]).size).toBe(4);
  });

  test('are copied if the previous snapshot is on another file system', async (context) => {
    const elsewhere = await mkdtemp('/dev/shm/sightline-').catch(() => null);
    if (elsewhere === null) return context.skip();
    onTestFinished(() => rm(elsewhere, { recursive: true, force: true }));
    const layout = layoutOf(await temporaryFolder());
    const first = await take(layout, 0);
    if ((await stat(elsewhere)).dev === (await stat(first.path)).dev) return context.skip();
    await cp(first.path, elsewhere, { recursive: true, preserveTimestamps: true });
    await unlink(layout.latest);
    await symlink(elsewhere, layout.latest);
    const second = await take(layout, 1);
    expect(second.written.files).toBe(0);
    const [before, after] = [hashes(first.path), hashes(second.path)];
    delete before['manifest.json'];
    expect(after).toMatchObject(before);
    expect((await stat(fileOf(second, 'responses/'))).nlink).toBe(1);
  });
});

describe('a damaged file of the previous snapshot', () => {
  const damages: Record<string, (path: string) => Promise<void>> = {
    'is missing': (path) => rm(path),
    'is shorter': async (path) => writeFile(path, (await readFile(path)).subarray(1)),
    'was modified': async (path) => {
      const bytes = await readFile(path);
      bytes[100] = (bytes[100] as number) ^ 1;
      await writeFile(path, bytes);
    },
  };
  test.each(Object.entries(damages))('that %s is written again', async (_name, damage) => {
    const layout = layoutOf(await temporaryFolder());
    const first = await take(layout, 0);
    const sound = hashes(first.path);
    const path = fileOf(first, 'responses/month=2026-02');
    await chmod(path, 0o644);
    await damage(path);
    const second = await take(layout, 1);
    expect(second.written.files).toBe(1);
    delete sound['manifest.json'];
    expect(hashes(second.path)).toMatchObject(sound);
  });

  test('with its original size and modification time is found within a week', async () => {
    const layout = layoutOf(await temporaryFolder());
    const first = await take(layout, 0);
    const path = fileOf(first, 'responses/month=2026-02');
    const bytes = await readFile(path);
    bytes[100] = (bytes[100] as number) ^ 1;
    const { atime, mtime } = await stat(path);
    await chmod(path, 0o644);
    await writeFile(path, bytes);
    await utimes(path, atime, mtime);
    let written = 0;
    for (let day = 1; day <= 7; day++) written += (await take(layout, day)).written.files;
    expect(written).toBe(1);
  });

  test('that is the manifest causes all files to be written again', async () => {
    const layout = layoutOf(await temporaryFolder());
    const first = await take(layout, 0);
    await writeFile(join(first.path, 'manifest.json'), '{"format": 1, "id": 7');
    expect((await take(layout, 1)).written.files).toBe(filesOf(first).length);
  });
});

describe('the fingerprint of a part', () => {
  test('changes with every column of every table and with added, duplicate and deleted rows', async () => {
    const undo = new Error('undo');
    let compared = 0;
    for (const table of [...workspace.catalogue.tables, ...workspace.catalogue.histories]) {
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
        compared += seen.size;
        throw undo;
      });
      await expect(work).rejects.toBe(undo);
    }
    expect(compared).toBeGreaterThan(300);
  });

  test('does not depend on the order of rows', async () => {
    const undo = new Error('undo');
    const table = workspace.catalogue.tables.find(({ name }) => name === 'responses') as WarehouseTable;
    const work = workspace.database.transaction(async (session) => {
      const before = await printsOf(session, table);
      await session.run('CREATE TEMP TABLE shuffled AS SELECT * FROM responses ORDER BY hash(id)');
      await session.run('DELETE FROM responses');
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
  const table = workspace.catalogue.tables.find(({ name }) => name === 'responses') as WarehouseTable;
  await workspace.database.transaction(async (session) => {
    const [part] = await partsOf(session, table, '2026-03');
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

async function printsOf(session: Session, table: WarehouseTable): Promise<string> {
  const parts = await partsOf(session, table, '2026-03');
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
