import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import type { ResourceSelection } from '../../src/base/config/config.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import type { ResourceDeclaration } from '../../src/contract/resource.ts';
import { type Context, openContext, type SyncRequest, type SyncSummary, sync } from '../../src/operations/sightline.ts';
import { layoutOf } from '../../src/publish/snapshot/layout.ts';
import { openDriftWatch } from '../../src/sync/drift-watch.ts';
import { runSync } from '../../src/sync/run-sync.ts';
import { createBudget } from '../../src/upstream/budget/budget.ts';
import { createClient } from '../../src/upstream/client.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { openWarehouse } from '../../src/warehouse/warehouse.ts';
import { skippingClock } from '../support/clocks.ts';
import { createEmptyWarehouse } from '../support/empty-warehouse.ts';
import { timed } from '../support/work-times.ts';
import { canonical, parseExactly } from './exact-json.ts';
import type { Shape } from './shape.ts';
import type { Upstream } from './upstream.ts';

/** A row by column. */
export type Row = Readonly<Record<string, unknown>>;

/** A workspace that mirrors the test upstream, synced through the entry for programs. */
export interface GenericMirror {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly context: Context;
  sync(request?: SyncRequest): Promise<SyncSummary>;
  /** Runs statements on the replica; the rows of each. */
  results(...statements: readonly string[]): Promise<Row[][]>;
  /** Runs one statement on the replica. */
  rows(sql: string): Promise<Row[]>;
  close(): Promise<void>;
}

/** The declared resources besides the list of brands. A sync that leaves them out takes a fifth of the time. */
export const OTHERS = declarations.map(({ name }) => name).filter((name) => name !== 'brands');

/** Creates a workspace in a temporary folder, without probes of the calibration and without the declared resources. Settings are written to its configuration file. */
export async function openGenericMirror(
  upstream: Pick<Upstream, 'baseUrl' | 'sandbox'>,
  nowMs: number,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<GenericMirror> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-generic-'));
  const own = { calibration: { probes: 0 }, resources: { exclude: OTHERS } };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ ...own, ...settings }));
  const environment = { SIGHTLINE_BASE_URL: upstream.baseUrl, SIGHTLINE_API_KEY: upstream.sandbox.key };
  const context = openContext({ folder, environment, clock: skippingClock(() => nowMs) });
  // `query` of the entry starts a process each time, so the tests read the replica themselves.
  const results = async (...statements: readonly string[]): Promise<Row[][]> => {
    const reader = await openReader(layoutOf(context.config.folder).analytics);
    try {
      const tables: Row[][] = [];
      for (const sql of statements) {
        const { columns, rows } = await reader.query(sql);
        tables.push(rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]]))));
      }
      return tables;
    } finally {
      reader.close();
    }
  };
  return {
    folder,
    environment,
    context,
    sync: (request) => sync(context, request),
    results,
    rows: async (sql) => (await results(sql))[0] ?? [],
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A warehouse that mirrors the test upstream, below the command line: without files of settings, raw pages and a replica. */
export interface BareMirror extends Pick<GenericMirror, 'results' | 'rows'> {
  sync(only?: readonly string[]): Promise<SyncSummary>;
  /** Opens the warehouse again with further declarations. */
  reopen(more: readonly ResourceDeclaration[]): Promise<void>;
  close(): Promise<void>;
}

/** Creates a mirror in a temporary folder; `selection` chooses the endpoints, by default the undeclared ones. */
export async function openBareMirror(
  { baseUrl, sandbox }: Pick<Upstream, 'baseUrl' | 'sandbox'>,
  nowMs: number,
  selection: Partial<ResourceSelection> = {},
): Promise<BareMirror> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-generic-'));
  const path = join(folder, 'warehouse.duckdb');
  await createEmptyWarehouse(path);
  const open = async (more: readonly ResourceDeclaration[] = []) => {
    const declared = createCatalogue([...declarations, ...more]);
    const warehouse = await openWarehouse(path, declared, {});
    // The warehouse's catalogue also has the inferred resources.
    return { catalogue: warehouse.catalogue, warehouse };
  };
  let opened = await open();
  const sync = async (only: readonly string[] | null = null): Promise<SyncSummary> => {
    const clock = skippingClock(() => nowMs);
    const budget = createBudget({ clock });
    const about = { key: sandbox.key, keyHeader: 'authorization', connections: 8 } as const;
    const client = createClient({ baseUrl, budget, clock, ...about });
    const drift = await openDriftWatch(opened.catalogue, opened.warehouse.database);
    const { signal } = new AbortController();
    try {
      const parts = {
        ...opened,
        drift,
        client,
        clock,
        connections: 8,
        basePath: '/v1',
        selection: { requests: 1_000, endpoints: 1_000, exclude: OTHERS, ...selection },
        signal,
      };
      const summary = await timed('sync', () => runSync(parts, { only, range: null, brands: null }));
      await drift.close(nowMs);
      return { ...summary, drift: drift.takeCounts() };
    } finally {
      await client.close();
    }
  };
  const rows = (sql: string): Promise<Row[]> =>
    opened.warehouse.database.exclusive(async (session) => (await session.all(sql)).map((row) => toPlainRow(row)));
  return {
    sync,
    rows,
    results: async (...statements) => {
      const tables: Row[][] = [];
      for (const sql of statements) tables.push(await rows(sql));
      return tables;
    },
    reopen: async (more) => {
      await opened.warehouse.close();
      opened = await open(more);
    },
    close: async () => {
      await opened.warehouse.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

// Numbers instead of integers of 64 bits, as the entry for programs returns them.
function toPlainRow(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
  );
}

/** Returns the tables of undeclared endpoints by path. */
export async function tablesOf({ rows }: Pick<GenericMirror, 'rows'>): Promise<Map<string, string>> {
  const endpoints = await rows('SELECT path, resource FROM sync.endpoints WHERE resource IS NOT NULL');
  return new Map(endpoints.map(({ path, resource }) => [String(path), String(resource)]));
}

/** Returns the stored items of tables, as sorted canonical texts. */
export async function storedItems(
  { results }: Pick<GenericMirror, 'results'>,
  tables: readonly (string | undefined)[],
): Promise<string[][]> {
  const stored = await results(
    ...tables.map((table) => `SELECT CAST(_item AS VARCHAR) AS item FROM ${table} WHERE _deleted_at IS NULL`),
  );
  return stored.map((rows) => rows.map(({ item }) => canonical(parseExactly(String(item)))).sort());
}

/** Returns the items that upstream has in all lists of an endpoint, as sorted canonical texts. */
export function upstreamItems(upstream: Upstream, shape: Shape): string[] {
  return upstream
    .lists(shape)
    .flatMap(({ items }) => (items ?? []).map(canonical))
    .sort();
}

/** Checks that the tables of endpoints have the items of upstream. */
export async function expectStored(
  mirror: Pick<GenericMirror, 'rows' | 'results'>,
  upstream: Upstream,
  shapes: readonly Shape[],
): Promise<void> {
  const tables = await tablesOf(mirror);
  const stored = await storedItems(
    mirror,
    shapes.map(({ path }) => tables.get(path)),
  );
  for (const [index, shape] of shapes.entries()) {
    expect(stored[index], shape.path).toEqual(upstreamItems(upstream, shape));
  }
}
