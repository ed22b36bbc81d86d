import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SyncSummary } from '../../src/operations/sightline.ts';
import { NOW_MS } from '../support/clocks.ts';
import { IS_ENDURANCE } from '../support/counts.ts';
import type { Json, JsonObject } from './exact-json.ts';
import { type BareMirror, openBareMirror, type Row, storedItems, tablesOf, upstreamItems } from './generic-mirror.ts';
import { drawFrom } from './shape-random.ts';
import type { RowChanges, Shape } from './shape.ts';
import { shapes } from './shapes.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/** Contents of the tables after one sync, by path. */
interface Mirrored {
  readonly summary: SyncSummary;
  readonly items: ReadonlyMap<string, string[]>;
  readonly changes: ReadonlyMap<string, RowChanges>;
  readonly versions: ReadonlyMap<string, number>;
}

let upstream: Upstream;
let mirror: BareMirror;
let tables: ReadonlyMap<string, string>;
const syncs: Record<'first' | 'second' | 'altered', Mirrored> = {} as never;
let columns: readonly Row[] = [];

beforeAll(async () => {
  // Rows of two brands: test/generic/serving.test.ts.
  upstream = await startUpstream({ shapes, nowMs: NOW_MS, brands: IS_ENDURANCE ? 2 : 1 });
  mirror = await openBareMirror(upstream, NOW_MS);
  syncs.first = await syncAll();
  syncs.second = await syncAll();
  for (const shape of shapes) {
    const list = upstream.lists(shape).find(({ items }) => items !== null);
    if (list !== undefined) list.items = alteredItems(shape, (list.items ?? []) as JsonObject[]);
  }
  syncs.altered = await syncAll();
  columns = await mirror.rows(
    "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main' AND database_name = current_database()",
  );
});

// Changes the first item, removes the last one, which has no inner lists, and adds one.
function alteredItems(shape: Shape, items: readonly JsonObject[]): Json[] {
  const [first = {}, ...others] = items;
  const changed = items.length === 0 ? [] : [shape.change(first)];
  if (shape.isObject === true) return changed;
  return [...changed, ...others.slice(0, -1), shape.create(first, drawFrom(`new ${shape.path}`))];
}

afterAll(async () => {
  await mirror.close();
  await upstream.close();
});

async function syncAll(): Promise<Mirrored> {
  const summary = await mirror.sync();
  tables = await tablesOf(mirror);
  const items = new Map<string, string[]>();
  const changes = new Map<string, RowChanges>();
  const versions = new Map<string, number>();
  const listed = [...tables];
  const stored = await storedItems(
    mirror,
    listed.map(([, table]) => table),
  );
  const counted = await mirror.results(...listed.map(([, table]) => `SELECT count(*) AS n FROM ${table}_history`));
  for (const [index, [path, table]] of listed.entries()) {
    items.set(path, stored[index] ?? []);
    const { inserted = 0, updated = 0, deleted = 0 } = summary.tables[table] ?? {};
    changes.set(path, { inserted, updated, deleted });
    versions.set(path, Number(counted[index]?.[0]?.['n']));
  }
  return { summary, items, changes, versions };
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

test.each(shapes.map((shape) => [shape.title, shape] as const))(
  '%s: a second sync changes nothing; then one changed, one new and one removed item change one row each',
  (_title, shape) => {
    const { path, isObject, changed } = shape;
    const { first, second, altered } = syncs;
    expect(second.items.get(path)).toEqual(first.items.get(path));
    expect([second.changes.get(path), second.versions.get(path)]).toEqual([none, first.versions.get(path)]);
    expect(altered.items.get(path)).toEqual(upstreamItems(upstream, shape));
    const wasEmpty = first.items.get(path)?.length === 0;
    const { inserted, updated, deleted } = wasEmpty ? none : (changed ?? { ...none, updated: 1 });
    const [added, removed] = isObject === true ? [0, 0] : [1, wasEmpty ? 0 : 1];
    expect(altered.changes.get(path)).toEqual({ inserted: inserted + added, updated, deleted: deleted + removed });
  },
);

const typed = shapes.filter(({ columns: expected }) => expected !== undefined);

test.each(typed.map((shape) => [shape.title, shape] as const))(
  'columns have the types of schema and data: %s',
  (_title, shape) => {
    const rows = columns.filter(({ table_name }) => table_name === tables.get(shape.path));
    const types = Object.fromEntries(rows.map(({ column_name, data_type }) => [column_name, data_type]));
    expect(types).toMatchObject(shape.columns ?? {});
  },
);
