import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { children, integer, json, number, text, timestamp, uuid } from '../../src/contract/fields.ts';
import { cursorParameter, limitParameter } from '../../src/contract/parameters.ts';
import { defineResource } from '../../src/contract/resource.ts';
import { createRowReader } from '../../src/contract/rows.ts';
import { addDays } from '../../src/contract/time.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';

const BRANDS = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'];
const FIRST_DAY = '2026-01-01';
const DAYS = 4;

// A windowed list with children and a detail that adds children of its own, which covers every case of an upsert.
const list = defineResource({
  name: 'notes',
  about: 'Notes.',
  scope: 'brand',
  path: '/brands/{brandId}/notes',
  paging: 'cursor',
  change: { kind: 'window' },
  query: { limit: limitParameter(100, 25), cursor: cursorParameter() },
  tables: [
    {
      name: 'notes',
      about: 'Notes.',
      at: { list: 'data' },
      key: ['id'],
      extent: { kind: 'time', field: 'at' },
      fields: {
        id: uuid('Id.'),
        at: timestamp('When.'),
        text: text('Text.'),
        amount: number('Amount.'),
        lines: children('Lines.', { table: 'note_lines', repeat: ['at'], fields: { text: text('Text.') } }),
      },
    },
  ],
  tool: 'list_notes',
});

const detail = defineResource({
  name: 'note',
  about: 'A note.',
  scope: 'brand',
  path: '/brands/{brandId}/notes/{noteId}',
  paging: 'single',
  change: { kind: 'detail', of: 'notes', parameter: 'noteId' },
  query: {},
  tables: [
    {
      name: 'notes',
      about: 'A note in full.',
      at: 'body',
      key: ['id'],
      fields: {
        id: uuid('Id.'),
        body: json('Body.'),
        marks: children('Marks.', { table: 'note_marks', repeat: [], fields: { weight: integer('Weight.') } }),
      },
    },
  ],
  tool: 'get_note',
});

const provider = defineResource({
  name: 'owners',
  about: 'Owners.',
  scope: 'workspace',
  path: '/owners',
  paging: 'single',
  change: { kind: 'set' },
  query: {},
  provides: { scope: 'brand', id: 'id', name: 'name', since: 'since' },
  tables: [
    {
      name: 'owners',
      about: 'Owners.',
      at: { list: 'data' },
      key: ['id'],
      fields: { id: uuid('Id.'), since: timestamp('S.') },
    },
  ],
  tool: 'list_owners',
});

interface Note {
  readonly id: string;
  readonly at: string;
  readonly text: string | null;
  readonly amount: number | null;
  readonly lines: readonly { readonly text: string | null }[];
  readonly more?: string;
}

interface Full {
  readonly id: string;
  readonly body: unknown;
  readonly marks: readonly { readonly weight: number | null }[];
}

type Step =
  | {
      readonly kind: 'window';
      readonly brand: number;
      readonly from: number;
      readonly to: number;
      readonly notes: readonly Note[];
      readonly page: number;
    }
  | { readonly kind: 'partial'; readonly brand: number; readonly notes: readonly Note[] }
  | { readonly kind: 'detail'; readonly brand: number; readonly full: Full }
  | { readonly kind: 'gone'; readonly brand: number; readonly id: string };

/** The stored state of a row. */
interface Kept {
  note: Note;
  full: Full | null;
  deleted: boolean;
}

const idOf = (index: number): string => `00000000-0000-4000-9000-${index.toString(16).padStart(12, '0')}`;
const dayOf = (index: number): string => addDays(FIRST_DAY, index);
// The time of a note depends on its id, because items of a window do not move.
const atOf = (index: number): string => `${dayOf(index % DAYS)}T1${index % 10}:00:00.000Z`;
const words = fc.option(
  fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.constantFrom("it's", '"q"', 'a\u0000b', '\ud83d')),
  { freq: 5 },
);

// Half of the notes have fixed content, so the same content comes back after a deletion.
const usual: fc.Arbitrary<Note> = fc.nat(9).map((index) => ({
  id: idOf(index),
  at: atOf(index),
  text: `note ${index}`,
  amount: index,
  lines: [{ text: 'a' }, { text: null }].slice(0, index % 3),
}));

const unusual: fc.Arbitrary<Note> = fc
  .record({
    index: fc.nat(9),
    text: words,
    amount: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
    lines: fc.array(fc.record({ text: words }), { maxLength: 3 }),
    more: fc.option(fc.string({ maxLength: 3 }), { nil: undefined, freq: 4 }),
  })
  .map(({ index, more, ...rest }) => ({
    id: idOf(index),
    at: atOf(index),
    ...rest,
    ...(more === undefined ? {} : { more }),
  }));

const note = fc.oneof(usual, unusual);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('window' as const),
      brand: fc.nat(1),
      from: fc.nat(DAYS - 1),
      to: fc.nat(DAYS - 1),
      notes: fc.array(note, { maxLength: 8 }),
      page: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('partial' as const),
      brand: fc.nat(1),
      notes: fc.array(note, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('detail' as const),
      brand: fc.nat(1),
      full: fc.record({
        id: fc.nat(9).map(idOf),
        body: fc.jsonValue({ maxDepth: 2 }),
        marks: fc.array(fc.record({ weight: fc.option(fc.integer()) }), { maxLength: 3 }),
      }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('gone' as const), brand: fc.nat(1), id: fc.nat(9).map(idOf) }),
  },
);

const catalogue = createCatalogue([provider, list, detail]);
const readList = createRowReader(catalogue, catalogue.get('notes'));
const readDetail = createRowReader(catalogue, catalogue.get('note'));

async function open(): Promise<Warehouse> {
  const warehouse = await openWarehouse(join(await temporaryFolder(), 'w.duckdb'), catalogue, {});
  onTestFinished(() => warehouse.close());
  return warehouse;
}

test('any sequence of pages produces the same rows as a map in memory', async () => {
  const warehouse = await open();
  const run = await warehouse.beginRun({ runId: '00000000-0000-4000-8000-000000000001', options: '', now: 0 });
  const sliceOf = (resource: string, brand: number, from: string | null = null, to: string | null = null) => ({
    id: `${resource} ${brand} ${from} ${to}`,
    resource,
    fixed: { brand_id: BRANDS[brand] as string },
    from,
    to,
  });

  const apply = async (model: Map<string, Kept>, step: Step): Promise<void> => {
    const brand = BRANDS[step.brand] as string;
    const put = (note: Note): void => {
      const old = model.get(`${brand} ${note.id}`);
      model.set(`${brand} ${note.id}`, { note, full: old?.full ?? null, deleted: false });
    };
    const commit = (
      resource: 'notes' | 'note',
      bodies: readonly unknown[],
      from: string | null,
      to: string | null,
      closes: boolean,
    ) =>
      bodies.reduce<Promise<number>>(async (before, body, index) => {
        const changed = await before;
        const chain = sliceOf(resource, step.brand, from, to);
        const tables = (resource === 'notes' ? readList : readDetail).read(body, chain.fixed);
        const next = closes && index === bodies.length - 1 ? null : `page ${index + 2}`;
        const result = await warehouse.writePage({
          run,
          chain,
          tables,
          date: 86_400_000,
          page: index + 1,
          next,
          guard: null,
          requests: [],
        });
        const table = result.tables.get('notes');
        return (
          changed + (table?.inserted ?? 0) + (table?.updated ?? 0) + (table?.deleted ?? 0) + (table?.completed ?? 0)
        );
      }, Promise.resolve(0));
    if (step.kind === 'window') {
      const [from, to] = [dayOf(Math.min(step.from, step.to)), dayOf(Math.max(step.from, step.to))];
      const inside = step.notes.filter(({ at }) => from <= at.slice(0, 10) && at.slice(0, 10) <= to);
      const size = Math.max(1, Math.ceil(inside.length / step.page));
      const pages = Array.from({ length: step.page }, (_, index) => ({
        data: inside.slice(index * size, (index + 1) * size),
      }));
      await commit('notes', pages, from, to, true);
      for (const kept of inside) put(kept);
      for (const [key, kept] of model) {
        const day = kept.note.at.slice(0, 10);
        const isSeen = inside.some(({ id }) => id === kept.note.id);
        if (key.startsWith(brand) && from <= day && day <= to && !isSeen) kept.deleted = true;
      }
      // Writing the same pages again changes nothing, unless a page contains two versions of a note.
      if (new Set(inside.map(({ id }) => id)).size === inside.length) {
        expect(await commit('notes', pages, from, to, true)).toBe(0);
      }
    } else if (step.kind === 'partial') {
      await commit('notes', [{ data: step.notes }], FIRST_DAY, dayOf(DAYS), false);
      await warehouse.restartSlice(sliceOf('notes', step.brand, FIRST_DAY, dayOf(DAYS)).id);
      for (const kept of step.notes) put(kept);
    } else if (step.kind === 'detail') {
      await commit('note', [step.full], null, null, true);
      const old = model.get(`${brand} ${step.full.id}`);
      if (old !== undefined) old.full = step.full;
      expect(await commit('note', [step.full], null, null, true)).toBe(0);
    } else {
      await warehouse.markDeleted(catalogue.get('notes'), [{ brand_id: brand, id: step.id }], 86_400_000);
      const old = model.get(`${brand} ${step.id}`);
      if (old !== undefined) old.deleted = true;
    }
  };

  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
      for (const { name } of catalogue.tables) await exec(warehouse, `DELETE FROM "${name}"`);
      const model = new Map<string, Kept>();
      for (const one of steps) await apply(model, one);
      expect(await contents(warehouse)).toEqual(expectedOf(model));
    }),
    { numRuns: 40 },
  );
});

// Marking a row also marks its children, except those that a detail wrote after the row was deleted.
function expectedOf(model: ReadonlyMap<string, Kept>): unknown[] {
  return [...model]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { note, full, deleted }]) => ({
      key,
      deleted,
      text: note.text?.toWellFormed() ?? null,
      amount: note.amount === null ? null : note.amount + 0,
      extra: note.more === undefined ? null : { more: note.more.toWellFormed() },
      lines: note.lines.map((line) => line.text?.toWellFormed() ?? null),
      body: full === null ? null : (JSON.parse(JSON.stringify(full.body)) as unknown),
      marks: (full?.marks ?? []).map(({ weight }) => weight),
    }));
}

async function contents(warehouse: Warehouse): Promise<unknown[]> {
  const rows = await exec(
    warehouse,
    'SELECT *, CAST(brand_id AS VARCHAR) AS b, CAST(id AS VARCHAR) AS i FROM notes ORDER BY b, i',
  );
  const linesOf = async (table: string, column: string, row: Readonly<Record<string, unknown>>): Promise<unknown[]> => {
    const found = await exec(
      warehouse,
      `SELECT ordinal, ${column} AS value FROM ${table} WHERE brand_id = '${row['b']}' AND note_id = '${row['i']}' ORDER BY ordinal`,
    );
    expect(found.map(({ ordinal }) => Number(ordinal))).toEqual(found.map((_line, index) => index));
    return found.map(({ value }) => (typeof value === 'bigint' ? Number(value) : value));
  };
  const result: unknown[] = [];
  for (const row of rows) {
    result.push({
      key: `${row['b']} ${row['i']}`,
      deleted: row['_deleted_at'] !== null,
      text: row['text'],
      amount: row['amount'],
      extra: row['_extra'] === null ? null : JSON.parse(String(row['_extra'])),
      lines: await linesOf('note_lines', 'text', row),
      body: row['body'] === null ? null : JSON.parse(String(row['body'])),
      marks: await linesOf('note_marks', 'weight', row),
    });
  }
  return result;
}

function exec(warehouse: Warehouse, sql: string) {
  return warehouse.database.exclusive((session) => session.all(sql));
}
