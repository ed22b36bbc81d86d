import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { children, integer, json, text, timestamp, uuid } from '../../src/contract/fields.ts';
import { cursorParameter, limitParameter } from '../../src/contract/parameters.ts';
import { defineResource } from '../../src/contract/resource.ts';
import { createRowReader } from '../../src/contract/rows.ts';
import { openWarehouse, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { temporaryFolder } from '../support/folders.ts';
import { expectHistorySound } from '../support/history.ts';

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

const catalogue = createCatalogue([list, detail, report]);
const readers = Object.fromEntries(
  catalogue.resources.map((resource) => [resource.name, createRowReader(catalogue, resource)]),
);

interface Item {
  readonly id: string;
  readonly text: string;
  readonly checkedAt: string;
  readonly lines: readonly { readonly text: string }[];
  readonly more?: string;
}

interface Full {
  readonly id: string;
  readonly body: unknown;
  readonly marks: readonly { readonly weight: number }[];
}

interface Sum {
  readonly of: string | null;
  readonly count: number;
}

/** Times in microseconds, as in the warehouse. */
interface Version {
  from: number;
  to: number | null;
  change: string;
  content: string;
}

interface Kept {
  content: string;
  /** The columns that start a new version when they change. */
  telling: string;
  deleted: boolean;
  detailed: string | null;
  full: Full | null;
  readonly versions: Version[];
}

type Model = Map<string, Kept>;

const idOf = (index: number): string => `00000000-0000-4000-9000-${String(index).padStart(12, '0')}`;
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

/** Upstream's clock may stand still and go back. */
const common = { brand: fc.nat(1), tick: fc.constantFrom(0, 1, 60, -30) };
const step = fc.oneof(
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
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function open(): Promise<Warehouse> {
  const warehouse = await openWarehouse(join(await temporaryFolder(), 'w.duckdb'), catalogue, {});
  onTestFinished(() => warehouse.close());
  return warehouse;
}

test('any sequence of pages produces the same history as a model in memory', async () => {
  const warehouse = await open();
  const run = await warehouse.beginRun({ runId: '00000000-0000-4000-8000-000000000001', options: '', now: 0 });
  const commit = async (
    resource: string,
    fixed: Record<string, unknown>,
    bodies: unknown[],
    at: number,
    closes = true,
  ) => {
    const chain = { id: JSON.stringify([resource, fixed]), resource, fixed, from: null, to: null };
    for (const [index, body] of bodies.entries()) {
      const tables = readers[resource]?.read(body, fixed) ?? [];
      const next = closes && index === bodies.length - 1 ? null : `page ${index + 2}`;
      await warehouse.writePage({ run, chain, tables, date: at, page: index + 1, next, guard: null, requests: [] });
    }
    if (!closes) await warehouse.restartSlice(chain.id);
  };

  const apply = async (model: Model, one: Step, at: number): Promise<void> => {
    const brand = BRANDS[one.brand] as string;
    const fixed = { brand_id: brand };
    if (one.kind === 'list') {
      const times = one.again ? 2 : 1;
      for (let time = 0; time < times; time++) {
        await commit(
          'notes',
          fixed,
          one.pages.map((data) => ({ data })),
          at,
          one.closes,
        );
        for (const page of one.pages) {
          // If a page contains a key twice, the last item counts.
          for (const last of new Map(page.map((entry) => [entry.id, entry])).values()) putItem(model, brand, last, at);
        }
        const listed = new Set(one.pages.flat().map(({ id }) => `notes ${brand} ${id}`));
        if (one.closes) endAbsent(model, `notes ${brand}`, listed, at);
      }
    } else if (one.kind === 'detail') {
      for (let time = 0; time < (one.again ? 2 : 1); time++) {
        await commit('note', fixed, [one.full], at);
        putFull(model, brand, one.full, at);
      }
    } else if (one.kind === 'gone') {
      await warehouse.markDeleted(catalogue.get('notes'), [{ brand_id: brand, id: one.id }], at);
      const kept = model.get(`notes ${brand} ${one.id}`);
      if (kept !== undefined && !kept.deleted) end(kept, at);
    } else {
      await commit('sums', { ...fixed, range_from: one.day, range_to: one.day }, [{ data: one.sums }], at);
      const place = `sums ${brand} ${one.day}`;
      const rows = new Map(one.sums.map((row) => [`${place} ${row.of}`, row]));
      for (const [key, { count }] of rows) write(model, key, JSON.stringify({ count }), JSON.stringify({ count }), at);
      endAbsent(model, place, new Set(rows.keys()), at);
    }
  };

  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      for (const { name } of [...catalogue.tables, ...catalogue.histories])
        await exec(warehouse, `DELETE FROM "${name}"`);
      const model: Model = new Map();
      let at = START_MS;
      for (const one of steps) {
        at += one.tick * 1000;
        await apply(model, one, at);
      }
      const expected = [...model].map(([key, { versions }]) => ({ key, versions }));
      expect(await histories(warehouse)).toEqual(expected.sort((a, b) => (a.key < b.key ? -1 : 1)));
      await expectHistorySound(catalogue, (sql) => exec(warehouse, sql));
    }),
    { numRuns: 60 },
  );
});

// The model: the current state of a note, and the resulting versions.

function putItem(model: Model, brand: string, note: Item, at: number): void {
  const key = `notes ${brand} ${note.id}`;
  const kept = model.get(key);
  const telling = { text: note.text, extra: note.more === undefined ? null : { more: note.more }, lines: note.lines };
  const full = kept?.full ?? null;
  const whole = { ...telling, ...(full === null ? none : { body: full.body, marks: full.marks }) };
  const before = kept?.content;
  const content = JSON.stringify({ ...whole, checkedAt: note.checkedAt });
  const renewed = kept !== undefined && (kept.deleted || before !== content);
  write(model, key, content, JSON.stringify(whole), at);
  if (renewed) (model.get(key) as Kept).detailed = null;
}

const none = { body: null, marks: [] };

function putFull(model: Model, brand: string, given: Full, at: number): void {
  const key = `notes ${brand} ${given.id}`;
  const kept = model.get(key);
  if (kept === undefined) return;
  const detailed = JSON.stringify(given);
  if (kept.detailed === detailed) return;
  const [content, telling] = [kept.content, kept.telling].map((json) =>
    JSON.stringify({ ...JSON.parse(json), body: given.body, marks: given.marks }),
  ) as [string, string];
  const first = kept.detailed === null;
  kept.detailed = detailed;
  kept.full = given;
  if (!kept.deleted && !first) {
    write(model, key, content, telling, at);
    return;
  }
  kept.content = content;
  kept.telling = telling;
  const last = kept.versions.at(-1) as Version;
  if (!kept.deleted) last.content = content;
}

function write(model: Model, key: string, content: string, telling: string, at: number): void {
  const old = model.get(key);
  if (old === undefined) {
    const versions = [{ from: at * 1000, to: null, change: 'inserted', content }];
    model.set(key, { content, telling, deleted: false, detailed: null, full: null, versions });
    return;
  }
  const last = old.versions.at(-1) as Version;
  if (old.deleted)
    old.versions.push({ from: Math.max(at * 1000, last.from + 1), to: null, change: 'restored', content });
  else if (canonical(old.telling) !== canonical(telling)) {
    last.to = Math.max(at * 1000, last.from + 1);
    old.versions.push({ from: last.to, to: null, change: 'updated', content });
  } else last.content = content;
  Object.assign(old, { content, telling, deleted: false });
}

function end(kept: Kept, at: number): void {
  const last = kept.versions.at(-1) as Version;
  last.to = Math.max(at * 1000, last.from + 1);
  kept.versions.push({ from: last.to, to: last.to, change: 'deleted', content: last.content });
  kept.deleted = true;
}

function endAbsent(model: Model, place: string, listed: ReadonlySet<string>, at: number): void {
  for (const [key, kept] of model) {
    if (key.startsWith(place) && !kept.deleted && !listed.has(key)) end(kept, at);
  }
}

function canonical(json: string): string {
  return JSON.stringify(Object.entries(JSON.parse(json) as object).sort());
}

async function histories(warehouse: Warehouse): Promise<unknown[]> {
  const notes = await exec(
    warehouse,
    `SELECT 'notes ' || brand_id || ' ' || id AS key, change, epoch_us(valid_from) AS began, epoch_us(valid_to) AS ended,
       text, CAST(_extra AS VARCHAR) AS extra, CAST(body AS VARCHAR) AS body, CAST(_children AS VARCHAR) AS children,
       strftime(checked_at, '%Y-%m-%dT%H:%M:%SZ') AS checked FROM notes_history ORDER BY key, began`,
  );
  const sums = await exec(
    warehouse,
    `SELECT 'sums ' || brand_id || ' ' || range_from || ' ' || coalesce("of", 'null') AS key, change,
       epoch_us(valid_from) AS began, epoch_us(valid_to) AS ended, count FROM sums_history ORDER BY key, began`,
  );
  const byKey = new Map<string, Version[]>();
  const add = (row: Readonly<Record<string, unknown>>, content: object): void => {
    const versions = byKey.get(String(row['key'])) ?? [];
    const to = row['ended'] === null ? null : Number(row['ended']);
    const version = { from: Number(row['began']), to, change: String(row['change']), content: JSON.stringify(content) };
    byKey.set(String(row['key']), [...versions, version]);
  };
  const parsed = (value: unknown): unknown => (value === null ? null : JSON.parse(String(value)));
  for (const row of notes) {
    const children = parsed(row['children']) as Record<string, Record<string, unknown>[]>;
    add(row, {
      text: row['text'],
      extra: parsed(row['extra']),
      lines: children['note_lines']?.map(({ text }) => ({ text })),
      body: parsed(row['body']),
      marks: children['note_marks']?.map(({ weight }) => ({ weight })),
      checkedAt: row['checked'],
    });
  }
  for (const row of sums) add(row, { count: Number(row['count']) });
  return [...byKey].map(([key, versions]) => ({ key, versions })).sort((a, b) => (a.key < b.key ? -1 : 1));
}

function exec(warehouse: Warehouse, sql: string) {
  return warehouse.database.exclusive((session) => session.all(sql));
}
