import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SyncSummary } from '../../src/operations/sightline.ts';
import { NOW_MS } from '../support/clocks.ts';
import { canonical, type Json, type JsonObject, parseExactly } from './exact-json.ts';
import { type GenericMirror, openGenericMirror, type Row } from './generic-mirror.ts';
import type { RowChanges, Shape } from './shape.ts';
import { drawFrom } from './shape-random.ts';
import { shapes } from './shapes.ts';
import { startUpstream, type Upstream, type UpstreamList } from './upstream.ts';

/** Contents of the tables after one sync, by path. */
interface Mirrored {
  readonly summary: SyncSummary;
  readonly items: ReadonlyMap<string, string[]>;
  readonly changes: ReadonlyMap<string, RowChanges>;
  readonly versions: ReadonlyMap<string, number>;
}

let upstream: Upstream;
let mirror: GenericMirror;
let tables: ReadonlyMap<string, string>;
const syncs: Record<'first' | 'second' | 'changed' | 'added' | 'removed', Mirrored> = {} as never;
let columns: readonly Row[] = [];

const TIMEOUT_MS = 600_000;

beforeAll(async () => {
  upstream = await startUpstream({ shapes, nowMs: NOW_MS });
  mirror = await openGenericMirror(upstream, NOW_MS);
  syncs.first = await syncAll();
  syncs.second = await syncAll();
  for (const shape of shapes)
    alterFirst(shape, (list, [first = {}]) => {
      list.items = (list.items ?? []).map((item, index) => (index === 0 ? shape.change(first) : item));
    });
  syncs.changed = await syncAll();
  for (const shape of shapes.filter(({ isObject }) => isObject !== true))
    alterFirst(shape, (list, [first = {}]) => {
      list.items = [...(list.items ?? []), shape.create(first, drawFrom(`new ${shape.path}`))];
    });
  syncs.added = await syncAll();
  for (const shape of shapes.filter(({ isObject }) => isObject !== true))
    alterFirst(shape, (list) => {
      list.items = (list.items ?? []).slice(0, -1);
    });
  syncs.removed = await syncAll();
  columns = await mirror.rows(
    "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main' AND database_name = current_database()",
  );
}, TIMEOUT_MS);

afterAll(async () => {
  await mirror.close();
  await upstream.close();
});

// Lists whose last items have no inner lists are changed at their ends only.
function alterFirst(shape: Shape, alter: (list: UpstreamList, items: readonly JsonObject[]) => void): void {
  const list = upstream.lists(shape).find(({ items }) => items !== null);
  if (list !== undefined) alter(list, (list.items ?? []) as JsonObject[]);
}

async function syncAll(): Promise<Mirrored> {
  const summary = await mirror.sync();
  const endpoints = await mirror.rows('SELECT path, resource FROM sync.endpoints WHERE resource IS NOT NULL');
  tables = new Map(endpoints.map(({ path, resource }) => [String(path), String(resource)]));
  const items = new Map<string, string[]>();
  const changes = new Map<string, RowChanges>();
  const versions = new Map<string, number>();
  // One call for all tables: each call starts a process.
  const listed = [...tables];
  const statements = listed.flatMap(([, table]) => [
    `SELECT CAST(_item AS VARCHAR) AS item FROM ${table} WHERE _deleted_at IS NULL`,
    `SELECT count(*) AS n FROM ${table}_history`,
  ]);
  const results = await mirror.results(statements.join(';\n'));
  for (const [index, [path, table]] of listed.entries()) {
    const [rows = [], counted = []] = results.slice(2 * index);
    items.set(path, rows.map(({ item }) => canonical(parseExactly(String(item)))).sort());
    const { inserted = 0, updated = 0, deleted = 0 } = summary.tables[table] ?? {};
    changes.set(path, { inserted, updated, deleted });
    versions.set(path, Number(counted[0]?.['n']));
  }
  return { summary, items, changes, versions };
}

function expectedItems(shape: Shape): string[] {
  return upstream
    .lists(shape)
    .flatMap(({ items }) => (items ?? []).map((item: Json) => canonical(item)))
    .sort();
}

const none: RowChanges = { inserted: 0, updated: 0, deleted: 0 };

test('every sync reads all endpoints completely', () => {
  for (const [name, { summary }] of Object.entries(syncs)) {
    expect([name, summary.status, summary.failures, summary.error]).toEqual([name, 'complete', [], null]);
  }
});

test('every endpoint of the document has a table', () => {
  expect([...tables.keys()].sort()).toEqual(shapes.map(({ path }) => path).sort());
});

describe.each(shapes.map((shape) => [shape.title, shape] as const))('%s', (_title, shape) => {
  test('after all changes, the table has the items of upstream', () => {
    expect(syncs.removed.items.get(shape.path)).toEqual(expectedItems(shape));
  });

  test('a second sync changes nothing', () => {
    expect(syncs.second.items.get(shape.path)).toEqual(syncs.first.items.get(shape.path));
    expect(syncs.second.changes.get(shape.path)).toEqual(none);
    expect(syncs.second.versions.get(shape.path)).toBe(syncs.first.versions.get(shape.path));
  });

  test('a changed item changes one row', () => {
    const isEmpty = upstream.lists(shape).every(({ items }) => items === null) || shape.path.endsWith('/coupons');
    const expected = isEmpty ? none : (shape.changed ?? { inserted: 0, updated: 1, deleted: 0 });
    expect(syncs.changed.changes.get(shape.path)).toEqual(expected);
  });

  test('a new item adds one row, and a removed item deletes one', () => {
    const isList = shape.isObject !== true;
    expect(syncs.added.changes.get(shape.path)).toEqual(isList ? { ...none, inserted: 1 } : none);
    expect(syncs.removed.changes.get(shape.path)).toEqual(isList ? { ...none, deleted: 1 } : none);
  });

  test.runIf(shape.columns !== undefined)('columns have the types of schema and data', () => {
    const rows = columns.filter(({ table_name }) => table_name === tables.get(shape.path));
    const types = Object.fromEntries(rows.map(({ column_name, data_type }) => [column_name, data_type]));
    const readers = Object.fromEntries(
      Object.entries(shape.columns ?? {}).map(([name, type]) => [
        name,
        type === 'TIMESTAMP' ? 'TIMESTAMP WITH TIME ZONE' : type,
      ]),
    );
    expect(types).toMatchObject(readers);
  });
});
