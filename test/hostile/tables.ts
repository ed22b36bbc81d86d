import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { openReader } from '../../src/warehouse/reader.ts';
import { readTotals } from '../support/upstream-truth.ts';

/** Key of the sandbox. */
export const KEY = 'gsk_sandbox_0000000000000000000000000000';

const catalogue = createCatalogue(declarations);

/** The live rows of the tables of a warehouse as JSON texts, sorted; engine columns are left out. */
export type Tables = Readonly<Record<string, readonly string[]>>;

/** Reads all tables; `query` returns the values of the first column. */
export async function readTables(query: (sql: string) => Promise<readonly unknown[]>): Promise<Tables> {
  const tables: Record<string, string[]> = {};
  for (const { name, columns } of catalogue.tables) {
    const own = columns.filter(({ source }) => source.from !== 'engine').map((column) => `"${column.name}"`);
    const texts = await query(
      `SELECT CAST(to_json(t) AS VARCHAR) AS text
       FROM (SELECT ${own.join(', ')} FROM main."${name}" WHERE _deleted_at IS NULL) t ORDER BY 1`,
    );
    tables[name] = texts.map(String);
  }
  return tables;
}

/** Reads the tables of the replica of a workspace. */
export async function readReplica(folder: string): Promise<Tables> {
  const reader = await openReader(join(folder, 'data', 'default', 'analytics.duckdb'));
  try {
    return await readTables(async (sql) => (await reader.query(sql)).rows.map(([text]) => text));
  } finally {
    reader.close();
  }
}

/** Tables of totals of the ranges that a sync requests, which depend on what it knows. */
const ranged = new Set(
  catalogue.resources.flatMap(({ change }) =>
    change.kind === 'report' && change.span === 'history' && change.eachDay !== undefined ? [change.eachDay.table] : [],
  ),
);

function rangeOf(row: string): string {
  const { brand_id: brand, range_from: from, range_to: to } = JSON.parse(row) as Record<string, unknown>;
  return `${brand} ${from} ${to}`;
}

// Compares totals with those that upstream has for the same range.
async function isTrue(table: string, row: string, baseUrl: string): Promise<boolean> {
  const stored = JSON.parse(row) as Record<string, unknown>;
  const range = { from: String(stored['range_from']), to: String(stored['range_to']) };
  // The tables are read without the columns of the engine.
  const { _extra, ...upstream } = await readTotals({ baseUrl, key: KEY }, table, String(stored['brand_id']), range);
  expect(_extra).toBeNull();
  expect(Object.keys(upstream).length, `columns of ${table}`).toBeGreaterThan(5);
  return Object.entries(upstream).every(([column, value]) => isDeepStrictEqual(stored[column], value));
}

/**
 * Fails with the tables that differ, the number of missing and surplus rows, and one row of each. Totals of ranges that only the
 * first of two syncs requested are compared with those of upstream at `baseUrl`.
 */
export async function expectSameTables(actual: Tables, expected: Tables, baseUrl: string): Promise<void> {
  const differences: string[] = [];
  for (const [name, rows] of Object.entries(expected)) {
    const has = new Set(actual[name]);
    const wanted = new Set(rows);
    const ranges = new Set(ranged.has(name) ? rows.map(rangeOf) : []);
    const isExtra = (row: string): boolean => ranged.has(name) && !ranges.has(rangeOf(row));
    const missing = [...wanted].filter((row) => !has.has(row));
    const surplus: string[] = [];
    for (const row of has) {
      if (!wanted.has(row) && !(isExtra(row) && (await isTrue(name, row, baseUrl)))) surplus.push(row);
    }
    const extra = [...has].filter(isExtra).length;
    if (missing.length + surplus.length === 0 && actual[name]?.length === rows.length + extra) continue;
    differences.push(
      `${name}: ${missing.length} missing ${missing[0] ?? ''}, ${surplus.length} surplus ${surplus[0] ?? ''}`,
    );
  }
  expect(Object.keys(expected)).toHaveLength(catalogue.tables.length);
  expect(Object.values(expected).flat().length).toBeGreaterThan(100);
  expect(differences).toEqual([]);
}
