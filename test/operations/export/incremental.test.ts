import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Advance } from '../../../schemas/fixtures/world/model.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { createRowReader } from '../../../src/contract/rows.ts';
import { exportWorkspace } from '../../../src/operations/export.ts';
import { type ExportedFiles, exportFiles, type FileExport } from '../../../src/operations/export/export-files.ts';
import { syncWorkspace } from '../../../src/operations/sync.ts';
import { layoutOf } from '../../../src/publish/snapshot/layout.ts';
import { openPosition } from '../../../src/publish/snapshot/positions.ts';
import { toSince } from '../../../src/publish/snapshot/since.ts';
import { openWarehouse } from '../../../src/warehouse/warehouse.ts';
import { builtInCatalogue as catalogue } from '../../../src/workspace/catalogues.ts';
import type { Context } from '../../../src/workspace/workspace.ts';
import { NOW_MS, skippingClock } from '../../support/clocks.ts';
import { countOf } from '../../support/counts.ts';
import { createEmptyWarehouse } from '../../support/empty-warehouse.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { copyWorld, startWorldSandbox } from '../../support/worlds.ts';
import { contextIn } from '../world-context.ts';

type Row = Record<string, unknown>;
type Tables = Map<string, Map<string, Row>>;

const BRAND = '00000000-0000-4000-8000-00000000000a';
const RUN = '00000000-0000-4000-8000-000000000001';
const START_MS = Date.parse('2026-03-01T00:00:00Z');
const nothing = (): void => undefined;
/** A Date has milliseconds, but versions of a row can be a microsecond apart. */
const exactTimes = { timestampFromMicroseconds: (micros: bigint) => micros };
const tables = [...catalogue.tables, ...catalogue.histories];
const readers = new Map(catalogue.resources.map((one) => [one.name, createRowReader(catalogue, one)]));

function exportOf(
  context: Context,
  output: string,
  changes: Partial<FileExport> = {},
  onProgress: Parameters<typeof exportFiles>[2] = nothing,
): Promise<ExportedFiles> {
  const everything = { tables: null, from: null, to: null, brands: null, compression: 'snappy' };
  return exportFiles(context, { ...everything, format: 'parquet', output, ...changes }, onProgress);
}

async function rowsIn({ path, files }: ExportedFiles): Promise<Map<string, Row[]>> {
  const found = new Map<string, Row[]>();
  for (const { name, file } of files) {
    const buffer = await asyncBufferFromFile(join(path as string, file));
    found.set(name, await parquetReadObjects({ file: buffer, parsers: exactTimes }));
  }
  return found;
}

function keyOf(table: string, row: Row): string {
  const key = tables.find(({ name }) => name === table)?.key ?? [];
  return shown(key.map((name) => row[name]));
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) => (typeof one === 'bigint' ? `${one}n` : one));
}

/** The live rows that a complete export has now, by table and key. */
async function liveRows(context: Context, changes: Partial<FileExport> = {}): Promise<Tables> {
  const folder = join(await temporaryFolder(), 'complete');
  const live: Tables = new Map();
  for (const [table, rows] of await rowsIn(await exportOf(context, folder, changes))) {
    const kept = rows.filter((row) => (row['_deleted_at'] ?? null) === null);
    live.set(table, new Map(kept.map((row) => [keyOf(table, row), row])));
  }
  return live;
}

/** Applies the changes of an export to tables, and checks that each is what its `_change` states. */
async function apply(target: Tables, exported: ExportedFiles): Promise<void> {
  for (const [table, rows] of await rowsIn(exported)) {
    const stored = target.get(table) ?? new Map<string, Row>();
    target.set(table, stored);
    for (const { _change: change, ...row } of rows) {
      const key = keyOf(table, row);
      const before = stored.get(key);
      if (change === 'delete') {
        expect([table, key, before !== undefined || row['_deleted_at'] !== null]).toEqual([table, key, true]);
        stored.delete(key);
        continue;
      }
      expect([table, key, change]).toEqual([table, key, before === undefined ? 'insert' : 'update']);
      if (before !== undefined) expect(shown(before)).not.toBe(shown(row));
      stored.set(key, row);
    }
  }
}

function texts(of: Tables): string[] {
  return [...of].flatMap(([table, rows]) => [...rows.values()].map((row) => `${table} ${shown(row)}`)).sort();
}

const itemId = (index: number): string => `00000000-0000-4000-9000-${String(index).padStart(12, '0')}`;

const response = fc.record({
  id: fc.nat(4).map(itemId),
  brandMentioned: fc.boolean(),
  competitors: fc.constant([]),
  citations: fc.array(fc.record({ url: fc.constantFrom('https://a.example/', 'https://b.example/') }), {
    maxLength: 3,
  }),
});
const competitor = fc.record({ id: fc.nat(3).map(itemId), name: fc.constantFrom('A', "O'B") });
/** Upstream's clock may stand still and go back. */
const tick = fc.constantFrom(0, 1, 60, -30);
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('responses'),
      tick,
      items: fc.uniqueArray(response, { maxLength: 4, selector: ({ id }) => id }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('competitors'),
      tick,
      items: fc.uniqueArray(competitor, { maxLength: 3, selector: ({ id }) => id }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('export'), tick, items: fc.constant([]) }) },
);

/** Writes pages of complete reads through the writer of syncs. */
async function openPages(context: Context) {
  const { warehouse: path } = layoutOf(context.config.folder);
  await mkdir(context.config.folder, { recursive: true });
  await createEmptyWarehouse(path, { hasMarts: true });
  let at = START_MS;
  return async (kind: string, items: readonly object[], tickSeconds: number): Promise<void> => {
    at += tickSeconds * 1000;
    const warehouse = await openWarehouse(path, catalogue, {});
    const run = await warehouse.beginRun({ runId: RUN, options: '', now: START_MS });
    const isDay = kind === 'responses';
    const fixed = { brand_id: BRAND };
    const day = isDay ? { from: '2026-02-01', to: '2026-02-01' } : { from: null, to: null };
    const data = items.map((item) => (isDay ? { ...item, engine: 'e', createdAt: '2026-02-01T10:00:00Z' } : item));
    const slice = { id: kind, resource: kind, fixed, ...day };
    const read = readers.get(kind)?.read({ data }, fixed) ?? [];
    await warehouse.writePage({ run, slice, tables: read, date: at, page: 1, next: null, guard: null, requests: [] });
    await warehouse.close();
  };
}

const written = {
  tables: ['responses', 'response_citations', 'competitors', 'competitors_history'],
  since: { kind: 'last' },
} as const satisfies Partial<FileExport>;

describe('the changes of exports since the last one', () => {
  test('applied in order reproduce every table at every point, for any sequence of reads', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: countOf(8, 12) }), async (steps) => {
        const folder = await temporaryFolder();
        const context = contextIn(folder);
        const write = await openPages(context);
        const target: Tables = new Map();
        await write('competitors', [], 0);
        for (const { kind, items, tick: seconds } of [...steps, { kind: 'export', items: [], tick: 0 }]) {
          if (kind !== 'export') {
            await write(kind, items, seconds);
            continue;
          }
          await apply(target, await exportOf(context, join(folder, 'out'), written));
          const { since: _since, ...complete } = written;
          expect(texts(target)).toEqual(texts(await liveRows(context, complete)));
        }
      }),
      { numRuns: countOf(5, 20) },
    );
  });

  test('follow the selection, and are repeated if the export fails before the position has moved', async () => {
    const folder = await temporaryFolder();
    const context = contextIn(folder);
    const write = await openPages(context);
    const output = join(folder, 'out');
    await write('competitors', [{ id: itemId(1), name: 'A' }], 0);
    await write('responses', [{ id: itemId(1), citations: [] }], 60);
    const first = await exportOf(context, output, { ...written, from: '2026-02-01' });
    expect(first.changes).toMatchObject({ name: output, since: null, until: { position: 1 } });
    expect(first.files.map(({ changes }) => changes?.insert)).toEqual([1, 0, 1, 1]);
    const later = await exportOf(context, output, { ...written, from: '2026-02-02' });
    expect(later.files.map(({ changes }) => changes?.delete)).toEqual([1, 0, 0, 0]);
    expect(later.changes).toMatchObject({ since: { position: 1 }, until: { position: 2 } });

    await write('competitors', [{ id: itemId(2), name: 'B' }], 60);
    await writeFile(join(output, 'notes.txt'), '');
    await expect(exportOf(context, output, written)).rejects.toMatchObject({ code: 'usage' });
    const stopped = { ...context, signal: AbortSignal.abort(new Error('stopped')) };
    await expect(exportOf(stopped, join(folder, 'other'), { ...written, name: output })).rejects.toThrow('stopped');
    const late = new AbortController();
    const stopping = exportOf({ ...context, signal: late.signal }, join(folder, 'other'), {}, ({ done, of }) => {
      if (done >= of - 1) late.abort(new Error('stopped late'));
    });
    await expect(stopping).rejects.toThrow('stopped late');
    expect(existsSync(join(folder, 'other'))).toBe(false);
    const { changes, files } = await exportOf(context, join(folder, 'other'), { ...written, name: output });
    expect(changes).toMatchObject({ since: { position: 2 }, until: { position: 3 } });
    expect(files.find(({ name }) => name === 'competitors')?.changes).toEqual({ insert: 1, update: 0, delete: 1 });
  });

  test('keep a dated folder with other changes, and replace the one of an export that was killed', async () => {
    const folder = await temporaryFolder();
    const nowMs = Date.parse('2026-11-22T14:02:03Z');
    const context = { ...contextIn(folder), clock: { ...systemClock, now: () => nowMs } };
    const write = await openPages(context);
    await write('competitors', [{ id: itemId(1), name: 'A' }], 0);
    const template = join(folder, '%Y', '%m-%d');
    const paths = async () => (await exportOf(context, template, written)).path;
    expect(await paths()).toBe(join(folder, '2026', '11-22'));
    expect(await paths()).toBe(join(folder, '2026', '11-22-02'));
    const position = join(
      (await openPosition(layoutOf(context.config.folder).positions, template)).folder,
      'position.json',
    );
    const before = await readFile(position, 'utf8');
    const at = await exportOf(context, template, { ...written, subfolder: 'acme' });
    expect(at.path).toBe(join(folder, '2026', '11-22', 'acme'));
    // As if the process had been killed after the folder was replaced.
    const states = JSON.parse(before).tables as Record<string, string>;
    const { folder: home } = await openPosition(layoutOf(context.config.folder).positions, template);
    expect(await readdir(home)).toEqual(expect.arrayContaining(Object.values(states)));
    await writeFile(position, before);
    expect(await exportOf(context, template, { ...written, subfolder: 'acme' })).toMatchObject({ path: at.path });
  });

  test('are rejected with the next step if the earlier rows are missing or damaged', async () => {
    const folder = await temporaryFolder();
    const context = contextIn(folder);
    const write = await openPages(context);
    await write('competitors', [{ id: itemId(1), name: 'A' }], 0);
    const output = join(folder, 'out');
    await exportOf(context, output, { ...written, tables: ['competitors'] });
    const { id, tables: published, path } = await exportWorkspace(context, nothing);
    const { folder: home, current } = await openPosition(layoutOf(context.config.folder).positions, output);
    const state = join(home, current?.tables['competitors'] as string);
    const [file] = published.find(({ name }) => name === 'competitors')?.files ?? [];
    const cases = [
      { damaged: state, since: { kind: 'last' }, hint: home },
      { damaged: join(path, file?.path as string), since: toSince(id, '--since'), hint: 'another snapshot' },
    ] as const;
    for (const { damaged, since, hint } of cases) {
      const exported = () => exportOf(context, output, { ...written, tables: ['competitors'], since });
      const expected = {
        code: 'config_invalid',
        message: expect.stringContaining('the earlier rows of competitors'),
        hint: expect.stringContaining(hint),
      };
      const bytes = await readFile(damaged);
      // Files of snapshots are read-only.
      await rm(damaged);
      await writeFile(damaged, bytes.subarray(0, bytes.length - 9));
      await expect(exported()).rejects.toMatchObject(expected);
      await rm(damaged);
      await expect(exported()).rejects.toMatchObject(expected);
      await writeFile(damaged, bytes);
      await expect(exported()).resolves.toMatchObject({ path: output });
    }
  });

  test('move the position once if two exports run at the same time', async () => {
    const positions = await temporaryFolder();
    const [one, other] = [await openPosition(positions, 'a'), await openPosition(positions, 'a')];
    const published: string[] = [];
    await one.advance('2026-11-22T14:02:03.000Z', {}, async () => void published.push('one'));
    const late = other.advance('2026-11-22T14:02:03.000Z', {}, async () => void published.push('other'));
    await expect(late).rejects.toMatchObject({ code: 'warehouse_locked' });
    expect(published).toEqual(['one']);
    await expect(
      (await openPosition(positions, 'a')).advance('2026-11-22T14:02:03.000Z', {}, () =>
        Promise.reject(new Error('no room')),
      ),
    ).rejects.toThrow('no room');
    expect((await openPosition(positions, 'a')).current?.number).toBe(1);
    await writeFile(join(one.folder, 'position.json'), '{');
    await expect(openPosition(positions, 'a')).rejects.toMatchObject({
      code: 'config_invalid',
      hint: expect.stringContaining(one.folder),
    });
  });
});

const EDIT: Advance = {
  ...{ days: 1, editedResponses: 3, deletedResponses: 3, regroupedPrompts: 2, deletedCompetitors: 1, lateAnswers: 2 },
  ...{ deletedPrompts: 1, actionsDone: 1, forumStatusChanges: 1, articleProgress: 1, pausedPrompts: 1 },
};

test('the changes of every table since the last export, a snapshot and a time lead to the same rows', async () => {
  const folder = await temporaryFolder();
  await copyWorld('tiny', folder);
  let now = NOW_MS;
  const sandbox = await startWorldSandbox('tiny', { clock: () => now });
  onTestFinished(() => sandbox.close());
  const context = { ...contextIn(folder, sandbox), clock: skippingClock(() => now) };
  const last = { since: { kind: 'last' } } as const;
  const target: Tables = new Map();
  await apply(target, await exportOf(context, join(folder, 'last'), last));
  expect([...target.keys()].sort()).toEqual(tables.map(({ name }) => name).sort());
  const id = await readlink(layoutOf(context.config.folder).latest);
  const atSnapshot: Tables = new Map([...target].map(([table, rows]) => [table, new Map(rows)]));
  now += 60_000;
  const startedAt = new Date(now).toISOString();
  now += 60_000;
  sandbox.advance(EDIT);
  now += 60_000;
  const everything = { only: null, range: null, brands: null, acceptDeletions: true };
  expect(await syncWorkspace(context, everything, nothing)).toMatchObject({ error: null, failures: [] });
  await apply(target, await exportOf(context, join(folder, 'last'), last));
  expect(texts(target)).toEqual(texts(await liveRows(context)));
  const since = (text: string, changes: Partial<FileExport> = {}) =>
    exportOf(context, join(folder, 'since'), { since: toSince(text, '--since'), ...changes });
  const exported = await since(id);
  const expected = { name: null, since: { snapshot: id }, until: { position: null } };
  expect(exported.changes).toMatchObject(expected);
  const sums = exported.files.map(({ changes }) => changes ?? { insert: 0, update: 0, delete: 0 });
  for (const kind of ['insert', 'update', 'delete'] as const) {
    expect(
      sums.reduce((sum, of) => sum + of[kind], 0),
      kind,
    ).toBeGreaterThan(0);
  }
  await apply(atSnapshot, exported);
  expect(texts(atSnapshot)).toEqual(texts(target));
  const responses = { tables: ['responses'] };
  const sinceStart = await since(startedAt, responses);
  expect(sinceStart.changes).toMatchObject(expected);
  expect(sinceStart.files[0]?.changes).toEqual(exported.files.find(({ name }) => name === 'responses')?.changes);
  const before = await since('2020-01-01', responses);
  expect(before.changes?.since).toBeNull();
  expect(before.files.find(({ name }) => name === 'responses')?.changes?.insert).toBe(target.get('responses')?.size);
  const unknown = since('20200101T000000Z');
  await expect(unknown).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining(`newest: ${id}`) });
  const future = since('2999-01-01');
  await expect(future).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('in the future') });
  const view = exportOf(context, join(folder, 'since'), { ...last, tables: ['mart.visibility_weekly'] });
  await expect(view).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('mart.visibility_weekly'),
  });
});
