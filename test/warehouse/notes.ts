import { join } from 'node:path';
import fc from 'fast-check';
import { onTestFinished } from 'vitest';
import { type Catalogue, createCatalogue } from '../../src/contract/catalogue.ts';
import { children, integer, json, number, text, timestamp, uuid } from '../../src/contract/fields.ts';
import { cursorParameter, limitParameter } from '../../src/contract/parameters.ts';
import { defineResource } from '../../src/contract/resource.ts';
import { createRowReader } from '../../src/contract/rows.ts';
import { addDays } from '../../src/contract/time.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';

const BRANDS = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'];
const START_MS = Date.parse('2026-03-01T00:00:00Z');
const FIRST_DAY = '2026-02-01';
const DAYS = 3;

// A list whose rows have nested arrays, an incidental field, and a detail with an array of its own.
const common = {
  about: 'Notes.',
  scope: 'brand',
  path: '/brands/{brandId}/notes',
  paging: 'cursor',
  query: { limit: limitParameter(100, 25), cursor: cursorParameter() },
  tool: 'list_notes',
} as const;
const table = {
  name: 'notes',
  about: 'Notes.',
  at: { list: 'data' },
  key: ['id'],
  incidental: ['checkedAt'],
  fields: {
    id: uuid('Id.'),
    at: timestamp('When.'),
    text: text('Text.'),
    amount: number('Amount.'),
    checkedAt: timestamp('Time of the last check.'),
    lines: children('Lines.', { table: 'note_lines', repeat: ['at'], fields: { text: text('Text.') } }),
  },
} as const;
const scan = defineResource({ name: 'notes', ...common, change: { kind: 'walk' }, tables: [table] });
const window = defineResource({
  name: 'notes',
  ...common,
  change: { kind: 'window' },
  tables: [{ ...table, extent: { kind: 'time', field: 'at' } }],
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

/** Notes in a paged scan, and a report. Both have full histories. */
export const scanned = createCatalogue([scan, detail, report]);
/** Notes in a window, which have a sparse history. */
export const windowed = createCatalogue([window, detail]);

export interface Item {
  readonly id: string;
  readonly at: string;
  readonly text: string | null;
  readonly amount: number | null;
  readonly checkedAt: string;
  readonly lines: readonly { readonly text: string | null }[];
  readonly more?: string;
}

export interface Full {
  readonly id: string;
  readonly body: unknown;
  readonly marks: readonly { readonly weight: number | null }[];
}

/** Returns the item with an index. Its time depends on its id, because items of a window do not move. */
export function itemOf(index: number, changes: Partial<Item> = {}): Item {
  return {
    id: `00000000-0000-4000-9000-${String(index).padStart(12, '0')}`,
    at: `${addDays(FIRST_DAY, index % DAYS)}T1${index % 10}:00:00.000Z`,
    text: `note ${index}`,
    amount: index,
    checkedAt: '2026-01-01T00:00:00Z',
    lines: [{ text: 'a' }, { text: null }].slice(0, index % 3),
    ...changes,
  };
}

const index = fc.nat(5);
const ids = index.map((at) => itemOf(at).id);
const words = fc.option(
  fc.oneof(fc.constantFrom('a', "it's", '"q"', 'a\u0000b', '\ud83d'), fc.string({ unit: 'binary', maxLength: 8 })),
);
const changes = fc.record(
  {
    text: words,
    amount: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
    checkedAt: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
    lines: fc.array(fc.record({ text: words }), { maxLength: 2 }),
    more: fc.constantFrom('1', '2', '\ud83d'),
  },
  { requiredKeys: [] },
);
// A third of the items have fixed content, so the same content comes back after a change or a deletion.
const item = fc.tuple(index, fc.option(changes, { freq: 3, nil: {} })).map(([at, changed]) => itemOf(at, changed));
const full: fc.Arbitrary<Full> = fc.record({
  id: ids,
  body: fc.oneof(fc.constantFrom(null, 'long'), fc.jsonValue({ maxDepth: 2 })),
  marks: fc.array(fc.record({ weight: fc.option(fc.integer()) }), { maxLength: 2 }),
});

// Upstream's clock may stand still and go back.
const placed = { brand: fc.nat(1), tick: fc.constantFrom(0, 1, 60, -30) };
/** A change of upstream that a sync writes. A window has the days from the lesser to the greater of `days`. */
export const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('list' as const),
      ...placed,
      pages: fc.array(fc.array(item, { maxLength: 4 }), { minLength: 1, maxLength: 2 }),
      days: fc.array(fc.nat(DAYS - 1), { minLength: 1, maxLength: 2 }),
      closes: fc.boolean(),
      again: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('detail' as const), ...placed, full, again: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('gone' as const), ...placed, id: ids }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      ...placed,
      sums: fc.array(fc.record({ of: fc.constantFrom(null, 'p', 'q'), count: fc.nat(2) }), { maxLength: 3 }),
      day: fc.constantFrom('2026-02-01', '2026-02-02'),
    }),
  },
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type List = Extract<Step, { kind: 'list' }>;

/** Returns the range and the pages of a list; null is the range of a paged scan. */
export function listed({ pages, days }: List, tables: Catalogue) {
  if (tables === scanned) return { range: null, pages };
  const range = { from: addDays(FIRST_DAY, Math.min(...days)), to: addDays(FIRST_DAY, Math.max(...days)) };
  return { range, pages: pages.map((page) => page.filter(({ at }) => isWithin(at, range))) };
}

/** Returns whether a time is within days. */
export function isWithin(at: string, { from, to }: { readonly from: string; readonly to: string }): boolean {
  return from <= at.slice(0, 10) && at.slice(0, 10) <= to;
}

/** Returns the brand of a step. */
export function brandOf({ brand }: Step): string {
  return BRANDS[brand] as string;
}

/** A warehouse with a run. */
export interface Written {
  readonly warehouse: Warehouse;
  readonly tables: Catalogue;
  /** Writes the pages of a slice; returns the number of changed rows. */
  commit(slice: Slice, bodies: readonly unknown[], at: number, closes?: boolean): Promise<number>;
  query(sql: string): Promise<Readonly<Record<string, unknown>>[]>;
}

interface Slice {
  readonly resource: string;
  readonly fixed: Readonly<Record<string, unknown>>;
  readonly range?: { readonly from: string; readonly to: string } | null;
}

/** Opens an empty warehouse with a run. */
export async function openWritten(tables: Catalogue): Promise<Written> {
  const warehouse = await openWarehouse(join(await temporaryFolder(), 'w.duckdb'), tables, {});
  onTestFinished(() => warehouse.close());
  const readers = new Map(tables.resources.map((resource) => [resource.name, createRowReader(tables, resource)]));
  const run = await warehouse.beginRun({ runId: '00000000-0000-4000-8000-000000000001', options: '', now: 0 });
  const commit: Written['commit'] = async ({ resource, fixed, range }, bodies, at, closes = true) => {
    const slice = { id: JSON.stringify([resource, fixed, range]), resource, fixed, from: null, to: null, ...range };
    let changed = 0;
    for (const [index, body] of bodies.entries()) {
      const rows = readers.get(resource)?.read(body, fixed) ?? [];
      const next = closes && index === bodies.length - 1 ? null : `page ${index + 2}`;
      const page = { run, slice, tables: rows, date: at, page: index + 1, next, guard: null, requests: [] };
      for (const counts of (await warehouse.writePage(page)).tables.values())
        changed += counts.inserted + counts.updated + counts.deleted + counts.completed;
    }
    if (!closes) await warehouse.restartSlice(slice.id);
    return changed;
  };
  const query: Written['query'] = (sql) => warehouse.database.exclusive((session) => session.all(sql));
  return { warehouse, tables, commit, query };
}

/** Removes all rows and versions. */
export async function clear({ query, tables }: Written): Promise<void> {
  await query([...tables.tables, ...tables.histories].map(({ name }) => `DELETE FROM "${name}"`).join(';'));
}

/** Writes a step, twice if it says so. Returns the number of rows that the second time changed. */
export async function writeStep({ warehouse, tables, commit }: Written, one: Step, at: number): Promise<number> {
  const fixed = { brand_id: brandOf(one) };
  const write = async (): Promise<number> => {
    switch (one.kind) {
      case 'list': {
        const { range, pages } = listed(one, tables);
        const bodies = pages.map((data) => ({ data }));
        return commit({ resource: 'notes', fixed, range }, bodies, at, one.closes);
      }
      case 'detail':
        return commit({ resource: 'note', fixed }, [one.full], at);
      case 'gone':
        await warehouse.markDeleted(tables.get('notes'), [{ ...fixed, id: one.id }], at);
        return 0;
      case 'report': {
        const range = { range_from: one.day, range_to: one.day };
        return commit({ resource: 'sums', fixed: { ...fixed, ...range } }, [{ data: one.sums }], at);
      }
    }
  };
  await write();
  return 'again' in one && one.again ? write() : 0;
}

/**
 * Runs steps, each at its time in epoch milliseconds. A step after steps of a single page does not wait for them, so that its first page
 * shares a transaction with theirs.
 */
export async function inOrder(steps: readonly Step[], work: (one: Step, at: number) => Promise<void>): Promise<void> {
  let at = START_MS;
  let running: Promise<void>[] = [];
  for (const one of steps) {
    at += one.tick * 1000;
    running.push(work(one, at));
    if (isSinglePage(one)) continue;
    await Promise.all(running);
    running = [];
  }
  await Promise.all(running);
}

function isSinglePage(one: Step): boolean {
  if (one.kind === 'list') return one.pages.length === 1 && one.closes && !one.again;
  return one.kind === 'report' || (one.kind === 'detail' && !one.again);
}
