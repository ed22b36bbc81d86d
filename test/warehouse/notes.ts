import { join } from 'node:path';
import fc from 'fast-check';
import { onTestFinished } from 'vitest';
import { type Catalogue, createCatalogue } from '../../src/contract/catalogue.ts';
import { children, integer, json, text, timestamp, uuid } from '../../src/contract/fields.ts';
import { cursorParameter, limitParameter } from '../../src/contract/parameters.ts';
import { defineResource } from '../../src/contract/resource.ts';
import { createRowReader } from '../../src/contract/rows.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';

const BRANDS = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'];
const START_MS = Date.parse('2026-03-01T00:00:00Z');

// A paged scan whose rows have nested arrays, an incidental field, and a detail with an array of its own.
const list = defineResource({
  name: 'notes',
  about: 'Notes.',
  scope: 'brand',
  path: '/brands/{brandId}/notes',
  paging: 'cursor',
  change: { kind: 'walk' },
  query: { limit: limitParameter(100, 25), cursor: cursorParameter() },
  tables: [
    {
      name: 'notes',
      about: 'Notes.',
      at: { list: 'data' },
      key: ['id'],
      incidental: ['checkedAt'],
      fields: {
        id: uuid('Id.'),
        text: text('Text.'),
        checkedAt: timestamp('Time of the last check.'),
        lines: children('Lines.', { table: 'note_lines', repeat: [], fields: { text: text('Text.') } }),
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

// A report by range: its key has a nullable value, and every page contains all rows.
const report = defineResource({
  name: 'sums',
  about: 'Sums.',
  scope: 'brand',
  path: '/brands/{brandId}/sums',
  paging: 'single',
  change: { kind: 'report', span: 'recent' },
  query: {},
  tables: [
    {
      name: 'sums',
      about: 'Sums.',
      at: { list: 'data' },
      extent: { kind: 'range' },
      key: ['of'],
      nullableKey: ['of'],
      fields: { of: text('Of what.'), count: integer('Count.') },
    },
  ],
  tool: 'get_sums',
});

/** Resources with full histories. */
export const catalogue = createCatalogue([list, detail, report]);

// The same rows in a window, which has a sparse history. Each row has its own time, because items of a window do not move.
const [table] = list.tables as [(typeof list.tables)[number]];
const windowed = defineResource({
  ...list,
  change: { kind: 'window' },
  tables: [
    {
      ...table,
      extent: { kind: 'time', field: 'at' },
      fields: {
        ...table.fields,
        at: timestamp('When.'),
        lines: children('Lines.', { table: 'note_lines', repeat: ['at'], fields: { text: text('Text.') } }),
      },
      normalize: (item) => ({ ...(item as Item), at: `2026-02-01T1${(item as Item).id.at(-1)}:00:00Z` }),
    },
  ],
});
/** The notes with a sparse history. */
export const sparse = createCatalogue([windowed, detail]);

export interface Item {
  readonly id: string;
  readonly text: string;
  readonly checkedAt: string;
  readonly lines: readonly { readonly text: string }[];
  readonly more?: string;
}

export interface Full {
  readonly id: string;
  readonly body: unknown;
  readonly marks: readonly { readonly weight: number }[];
}

interface Sum {
  readonly of: string | null;
  readonly count: number;
}

/** A version of a row. Times are in microseconds, as in the warehouse. */
export interface Version {
  from: number;
  to: number | null;
  change: string;
  content: string;
}

/** Returns the id of a note. */
export const idOf = (index: number): string => `00000000-0000-4000-9000-${String(index).padStart(12, '0')}`;
const item: fc.Arbitrary<Item> = fc.record(
  {
    id: fc.nat(4).map(idOf),
    text: fc.constantFrom('a', 'b', "it's"),
    checkedAt: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
    lines: fc.array(fc.record({ text: fc.constantFrom('x', 'y') }), { maxLength: 2 }),
    more: fc.constantFrom('1', '2'),
  },
  { requiredKeys: ['id', 'text', 'checkedAt', 'lines'] },
);
const full: fc.Arbitrary<Full> = fc.record({
  id: fc.nat(4).map(idOf),
  body: fc.constantFrom(null, 'long', { deep: [1, 'two'] }),
  marks: fc.array(fc.record({ weight: fc.nat(1) }), { maxLength: 2 }),
});
const sum: fc.Arbitrary<Sum> = fc.record({ of: fc.constantFrom(null, 'p', 'q'), count: fc.nat(2) });

// Upstream's clock may stand still and go back.
const common = { brand: fc.nat(1), tick: fc.constantFrom(0, 1, 60, -30) };
/** A change of upstream that a sync writes. */
export const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('list' as const),
      ...common,
      pages: fc.array(fc.array(item, { maxLength: 4 }), { minLength: 1, maxLength: 2 }),
      closes: fc.boolean(),
      again: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('detail' as const), ...common, full, again: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('gone' as const), ...common, id: fc.nat(4).map(idOf) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      ...common,
      sums: fc.array(sum, { maxLength: 3 }),
      day: fc.constantFrom('2026-02-01', '2026-02-02'),
    }),
  },
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

type Commit = (
  resource: string,
  fixed: Record<string, unknown>,
  bodies: unknown[],
  at: number,
  closes?: boolean,
) => Promise<void>;

/** A warehouse with a run. */
export interface Written {
  readonly warehouse: Warehouse;
  readonly commit: Commit;
}

/** Opens an empty warehouse with a run, and a function that writes pages. */
export async function openWritten(tables: Catalogue): Promise<Written> {
  const warehouse = await openWarehouse(join(await temporaryFolder(), 'w.duckdb'), tables, {});
  onTestFinished(() => warehouse.close());
  const readers = new Map(tables.resources.map((resource) => [resource.name, createRowReader(tables, resource)]));
  const run = await warehouse.beginRun({ runId: '00000000-0000-4000-8000-000000000001', options: '', now: 0 });
  const commit: Commit = async (resource, fixed, bodies, at, closes = true) => {
    const isWindow = tables.get(resource).change.kind === 'window';
    const range = isWindow ? { from: '2026-02-01', to: '2026-02-01' } : { from: null, to: null };
    const chain = { id: JSON.stringify([resource, fixed]), resource, fixed, ...range };
    for (const [index, body] of bodies.entries()) {
      const tables = readers.get(resource)?.read(body, fixed) ?? [];
      const next = closes && index === bodies.length - 1 ? null : `page ${index + 2}`;
      await warehouse.writePage({ run, chain, tables, date: at, page: index + 1, next, guard: null, requests: [] });
    }
    if (!closes) await warehouse.restartSlice(chain.id);
  };
  return { warehouse, commit };
}

/** Removes all rows and versions. */
export async function clear({ warehouse }: Written, { tables, histories }: Catalogue): Promise<void> {
  for (const { name } of [...tables, ...histories]) await exec(warehouse, `DELETE FROM "${name}"`);
}

/** Writes a step to a warehouse. */
export async function writeStep(
  { warehouse, commit }: Written,
  tables: Catalogue,
  one: Step,
  at: number,
): Promise<void> {
  const fixed = { brand_id: brandOf(one) };
  switch (one.kind) {
    case 'list': {
      const bodies = one.pages.map((data) => ({ data }));
      for (let time = 0; time < (one.again ? 2 : 1); time++) await commit('notes', fixed, bodies, at, one.closes);
      return;
    }
    case 'detail':
      for (let time = 0; time < (one.again ? 2 : 1); time++) await commit('note', fixed, [one.full], at);
      return;
    case 'gone':
      await warehouse.markDeleted(tables.get('notes'), [{ ...fixed, id: one.id }], at);
      return;
    case 'report':
      await commit('sums', { ...fixed, range_from: one.day, range_to: one.day }, [{ data: one.sums }], at);
  }
}

/** Runs steps, each at its time in epoch milliseconds. */
export async function inOrder(steps: readonly Step[], work: (one: Step, at: number) => Promise<void>): Promise<void> {
  let at = START_MS;
  for (const one of steps) {
    at += one.tick * 1000;
    await work(one, at);
  }
}

/** Returns the brand of a step. */
export function brandOf({ brand }: Step): string {
  return BRANDS[brand] as string;
}

/** Returns the versions of the notes by row. */
export async function versionsOf(
  warehouse: Warehouse,
): Promise<{ readonly key: string; readonly versions: Version[] }[]> {
  const notes = await exec(
    warehouse,
    `SELECT 'notes ' || brand_id || ' ' || id AS key, change, epoch_us(valid_from) AS began, epoch_us(valid_to) AS ended,
       text, CAST(_extra AS VARCHAR) AS extra, CAST(body AS VARCHAR) AS body, CAST(_children AS VARCHAR) AS children,
       strftime(checked_at, '%Y-%m-%dT%H:%M:%SZ') AS checked FROM notes_history ORDER BY key, began`,
  );
  const byKey = new Map<string, Version[]>();
  const parsed = (value: unknown): unknown => (value === null ? null : JSON.parse(String(value)));
  for (const row of notes) {
    const children = parsed(row['children']) as Record<string, Record<string, unknown>[]>;
    addVersion(byKey, row, {
      text: row['text'],
      extra: parsed(row['extra']),
      lines: children['note_lines']?.map(({ text }) => ({ text })),
      body: parsed(row['body']),
      marks: children['note_marks']?.map(({ weight }) => ({ weight })),
      checkedAt: row['checked'],
    });
  }
  return sorted(byKey);
}

/** Returns the versions of all rows by row. */
export async function histories(warehouse: Warehouse): Promise<unknown[]> {
  const sums = await exec(
    warehouse,
    `SELECT 'sums ' || brand_id || ' ' || range_from || ' ' || coalesce("of", 'null') AS key, change,
       epoch_us(valid_from) AS began, epoch_us(valid_to) AS ended, count FROM sums_history ORDER BY key, began`,
  );
  const byKey = new Map<string, Version[]>();
  for (const row of sums) addVersion(byKey, row, { count: Number(row['count']) });
  return [...(await versionsOf(warehouse)), ...sorted(byKey)];
}

function addVersion(byKey: Map<string, Version[]>, row: Readonly<Record<string, unknown>>, content: object): void {
  const versions = byKey.get(String(row['key'])) ?? [];
  const to = row['ended'] === null ? null : Number(row['ended']);
  const version = { from: Number(row['began']), to, change: String(row['change']), content: JSON.stringify(content) };
  byKey.set(String(row['key']), [...versions, version]);
}

function sorted(byKey: Map<string, Version[]>): { readonly key: string; readonly versions: Version[] }[] {
  return [...byKey].map(([key, versions]) => ({ key, versions })).sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Runs a query. */
export function exec(warehouse: Warehouse, sql: string) {
  return warehouse.database.exclusive((session) => session.all(sql));
}
