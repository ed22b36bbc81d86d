import { expect } from 'vitest';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { withDependencies } from '../../src/sync/plan/plan-slices.ts';
import { type Check, expectNone, historyChecks } from './history.ts';
import { type Expected, type Json, readUpstream, sorted, type Upstream } from './upstream-truth.ts';
import type { TestWorkspace } from './workspace.ts';

/** The tables to compare. */
export type Stored = Pick<TestWorkspace, 'sandbox' | 'catalogue' | 'query'>;

const SHOWN = 3;

/** Number of compared rows by table, so that a test can check that there were any. */
export type Compared = Readonly<Record<string, number>>;

/**
 * Compares every table of the warehouse with upstream's current data: keys, values, and the order of children. Throws
 * with the first differences of every table. Returns the number of rows of each table. `only` names the resources of the syncs before;
 * by default all.
 */
export async function expectEqualToUpstream(
  of: Stored,
  { only, ...options }: Partial<Upstream> & { readonly only?: readonly string[] } = {},
): Promise<Compared> {
  const workspace = only === undefined ? of : narrowed(of, only);
  const { sandbox } = workspace;
  const today = new Date(sandbox.world.now()).toISOString().slice(0, 10);
  const totalsOf = storedRanges(workspace);
  const about = { baseUrl: sandbox.baseUrl, key: sandbox.key, today, totalsOf };
  const chosen = only === undefined ? {} : { declarations: workspace.catalogue.resources };
  const expected = await readUpstream({ ...about, ...chosen, ...options });
  const differences: string[] = [];
  const compared: Record<string, number> = {};
  for (const part of expected) {
    const [missing, surplus] = difference(
      part.rows.map((row) => JSON.stringify(row)),
      await liveRows(workspace, part),
    );
    compared[part.table] = (compared[part.table] ?? 0) + part.rows.length;
    const where = `${part.resource} -> ${part.table} where ${part.where}`;
    if (missing.length > 0) differences.push(`${where}: ${missing.length} missing`, ...missing.slice(0, SHOWN));
    if (surplus.length > 0) differences.push(`${where}: ${surplus.length} too many`, ...surplus.slice(0, SHOWN));
  }
  if (differences.length > 0) throw new Error(`the warehouse differs from upstream:\n${differences.join('\n')}`);
  expect(Object.keys(compared).sort()).toEqual(workspace.catalogue.tables.map(({ name }) => name).sort());
  await expectConsistent(workspace);
  return compared;
}

function narrowed(workspace: Stored, only: readonly string[]): Stored {
  const wanted = withDependencies(workspace.catalogue, only);
  return {
    ...workspace,
    catalogue: createCatalogue(workspace.catalogue.resources.filter(({ name }) => wanted.has(name))),
  };
}

/** Returns the ranges of up to a month whose totals are stored, which the sync chooses. */
export function storedRanges({ query }: Stored): Upstream['totalsOf'] {
  return async (table, brandId) => {
    const rows = await query(
      `SELECT CAST(range_from AS VARCHAR) AS "from", CAST(range_to AS VARCHAR) AS "to" FROM "${table}"
       WHERE brand_id = '${brandId}' AND range_to - range_from < 31 AND _deleted_at IS NULL`,
    );
    return rows.map(({ from, to }) => ({ from: String(from), to: String(to) }));
  };
}

/**
 * Checks a warehouse that is behind upstream: each row equals upstream's at one of the times in `truths`, and no row is
 * marked as deleted that the last of them still lists. Columns in `bent` are ignored.
 */
export async function expectNothingWrong(
  workspace: Stored,
  truths: readonly (readonly Expected[])[],
  bent: readonly string[],
): Promise<void> {
  const { catalogue, query } = workspace;
  const wrong: string[] = [];
  const straight = (row: Record<string, unknown>): string =>
    JSON.stringify(Object.entries(row).filter(([name]) => !bent.includes(name)));
  const allowed = new Map<string, Set<string>>();
  for (const part of truths.flat()) {
    const place = `${part.resource} ${part.table} ${part.where}`;
    const rows = allowed.get(place) ?? new Set();
    allowed.set(place, rows);
    for (const row of part.rows) rows.add(straight(row));
  }
  for (const part of truths.at(-1) ?? []) {
    const isDetail = part.columns.includes('_detail_extra');
    const where = isDetail ? `${part.where} AND _detail_hash IS NOT NULL` : part.where;
    const place = `${part.resource} ${part.table} ${part.where}`;
    for (const text of await liveRows(workspace, { ...part, where })) {
      const row = straight(JSON.parse(text) as Record<string, unknown>);
      if (!allowed.get(place)?.has(row)) wrong.push(`${place}: ${row}`);
    }
    const key = catalogue.tables.find(({ name }) => name === part.table)?.key ?? [];
    const named = part.columns.filter((name) => key.includes(name));
    if (isDetail || named.length < key.length) continue;
    const listed = new Set(part.rows.map((row) => JSON.stringify(named.map((name) => row[name] ?? null))));
    const list = named.map((name) => `CAST("${name}" AS VARCHAR) AS "${name}"`).join(', ');
    const marked = await query(`SELECT ${list} FROM "${part.table}" WHERE _deleted_at IS NOT NULL AND ${part.where}`);
    for (const row of marked) {
      const text = JSON.stringify(named.map((name) => row[name] ?? null));
      if (listed.has(text)) wrong.push(`${part.table}: ${text} is marked as deleted and is not`);
    }
  }
  if (wrong.length > 0) throw new Error(`${wrong.length} wrong rows:\n${wrong.slice(0, 2 * SHOWN).join('\n')}`);
}

/** Returns a hash of every table's rows, including engine columns. It is unchanged if nothing was written. */
export async function fingerprint({ catalogue, query }: Stored): Promise<Record<string, unknown>> {
  const prints: Record<string, unknown> = {};
  for (const { name } of [...catalogue.tables, ...catalogue.histories]) {
    const [row] = await query(`SELECT count(*) AS rows, CAST(bit_xor(hash(t)) AS VARCHAR) AS hash FROM "${name}" t`);
    prints[name] = row;
  }
  return prints;
}

/**
 * Checks the invariants of a warehouse: unique keys, a parent for every child, equal hashes of parent and children, and
 * histories consistent with their tables.
 */
export async function expectConsistent({ catalogue, query }: Stored): Promise<void> {
  const checks: Check[] = [...historyChecks(catalogue)];
  for (const { name, key } of catalogue.tables) {
    const columns = key.map((column) => `"${column}"`).join(', ');
    const sql = `SELECT ${columns}, count(*) AS n FROM "${name}" GROUP BY ALL HAVING count(*) > 1`;
    checks.push({ what: `keys that ${name} has more than once`, sql });
  }
  for (const resource of catalogue.resources) {
    for (const table of resource.derived) {
      const hash = resource.change.kind === 'detail' ? '_detail_hash' : '_row_hash';
      for (const child of table.children) {
        const links = child.columns.filter(({ source, name }) => {
          return child.parentKey.includes(name) && source.from === 'parent';
        });
        const same = links
          .map(({ name, source }) => `p."${source.from === 'parent' ? source.column : ''}" = c."${name}"`)
          .join(' AND ');
        const orphans = `SELECT * FROM "${child.name}" c WHERE NOT EXISTS
          (SELECT 1 FROM "${table.name}" p WHERE ${same} AND (p."${hash}" = c._row_hash OR p."${hash}" IS NULL)
            AND (p._deleted_at IS NULL) = (c._deleted_at IS NULL))`;
        const gaps = `SELECT * FROM (SELECT ${child.parentKey.map((n) => `"${n}"`).join(', ')},
          count(*) AS items, max(ordinal) AS last FROM "${child.name}" GROUP BY ALL) WHERE items <> last + 1`;
        checks.push({ what: `rows of ${child.name} unlike their parent`, sql: orphans });
        checks.push({ what: `gaps in the order of ${child.name}`, sql: gaps });
      }
    }
  }
  await expectNone(checks, query);
}

async function liveRows({ query, catalogue }: Stored, part: Expected): Promise<string[]> {
  const table = catalogue.tables.find(({ name }) => name === part.table);
  if (table === undefined) throw new Error(`the catalogue has no table ${part.table}`);
  const list = part.columns.map((name) => {
    const kind = table.columns.find((column) => column.name === name)?.kind;
    if (kind === undefined) throw new Error(`${part.table} has no column ${name}`);
    if (kind === 'timestamp') return `strftime("${name}", '%Y-%m-%dT%H:%M:%S.%gZ') AS "${name}"`;
    if (kind === 'day' || kind === 'uuid' || kind === 'json') return `CAST("${name}" AS VARCHAR) AS "${name}"`;
    return `"${name}"`;
  });
  const rows = await query(
    `SELECT ${list.length === 0 ? '1' : list.join(', ')} FROM "${part.table}" WHERE ${part.where} AND _deleted_at IS NULL`,
  );
  return rows.map((row) =>
    JSON.stringify(
      Object.fromEntries(
        part.columns.map((name) => {
          const kind = table.columns.find((column) => column.name === name)?.kind;
          return [name, toJson(kind as string, row[name])];
        }),
      ),
    ),
  );
}

function toJson(kind: string, value: unknown): Json {
  if (value === null || value === undefined) return null;
  if (kind === 'json') return sorted(JSON.parse(String(value)));
  return typeof value === 'bigint' ? Number(value) : value;
}

// Compares as multisets: returns expected rows that are missing, and found rows that are not expected.
function difference(expected: readonly string[], actual: readonly string[]): [string[], string[]] {
  const counts = new Map<string, number>();
  for (const row of expected) counts.set(row, (counts.get(row) ?? 0) + 1);
  const surplus: string[] = [];
  for (const row of actual) {
    const count = counts.get(row) ?? 0;
    if (count === 0) surplus.push(row);
    else counts.set(row, count - 1);
  }
  return [[...counts].flatMap(([row, count]) => Array<string>(count).fill(row)), surplus];
}
