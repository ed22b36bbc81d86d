import type { Resource } from '../contract/catalogue.ts';
import { columnOf, type ResourceTable } from '../contract/tables.ts';
import type { Database, Parameter } from './database.ts';
import { quoted } from './schema.ts';

/** A row of a list as planning sees it: its id, and since when it has data. */
export interface Member {
  readonly id: string;
  /** Day, `YYYY-MM-DD`, or null when upstream gives none. */
  readonly since: string | null;
  /** Whether its detail was read since the row is as it is; false where it has none. */
  readonly detailed: boolean;
}

/** A chain that was read whole in a pass. */
export interface ClosedChain {
  readonly id: string;
  readonly resource: string;
  readonly brandId: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly closedAt: number;
  /** The pass in which it was read last. */
  readonly passId: string;
  /** Rows it had. */
  readonly rows: number;
  /** What the read was of, where that tells whether another is due. */
  readonly state: string | null;
}

/** A chain that a pass has begun and not finished. */
export interface OpenChain {
  readonly id: string;
  readonly resource: string;
  readonly brandId: string | null;
  readonly from: string | null;
  readonly to: string | null;
  /** Pages that are in. */
  readonly pages: number;
  /** Cursor of the page to ask for next. */
  readonly next: string | null;
  readonly at: number;
}

/** The live rows of a list, in the brand where it has one. `id` and `since` are fields of the list. */
export async function readMembers(
  database: Database,
  resource: Resource,
  brandId: string | null,
  fields: { id: string; since?: string; detail?: true },
): Promise<Member[]> {
  const table = resource.derived[0] as ResourceTable;
  const id = quoted(columnOf(table.declaration.fields, fields.id));
  const since =
    fields.since === undefined
      ? 'NULL'
      : `strftime(${quoted(columnOf(table.declaration.fields, fields.since))}, '%Y-%m-%d')`;
  const scope = brandId === null ? '' : 'AND brand_id = CAST($1 AS UUID)';
  const rows = await database.exclusive((session) =>
    session.all(
      `SELECT CAST(${id} AS VARCHAR) AS id, ${since} AS since, ${fields.detail === true ? '"_detail_hash" IS NOT NULL' : 'false'} AS detailed FROM ${quoted(table.name)}
       WHERE "_deleted_at" IS NULL ${scope} ORDER BY rowid`,
      brandId === null ? [] : [brandId],
    ),
  );
  return rows.map((row) => ({
    id: String(row['id']),
    since: row['since'] === null ? null : String(row['since']),
    detailed: row['detailed'] === true,
  }));
}

/** The first day within the range for which a brand has a live row, or null. */
export async function readFirstDay(
  database: Database,
  table: string,
  column: string,
  brandId: string,
  range: { from: string; to: string },
): Promise<string | null> {
  const [row] = await database.exclusive((session) =>
    session.all(
      `SELECT strftime(min(${quoted(column)}), '%Y-%m-%d') AS day FROM ${quoted(table)}
       WHERE brand_id = CAST($1 AS UUID) AND "_deleted_at" IS NULL
         AND ${quoted(column)} >= CAST($2 AS DATE) AND ${quoted(column)} < CAST($3 AS DATE) + INTERVAL 1 DAY`,
      [brandId, range.from, range.to],
    ),
  );
  const day = row?.['day'] ?? null;
  return day === null ? null : String(day);
}

const chainColumns = `chain AS id, resource, CAST(brand_id AS VARCHAR) AS brand_id,
  strftime(range_from, '%Y-%m-%d') AS range_from, strftime(range_to, '%Y-%m-%d') AS range_to`;

/** Which reads matter, of all that there ever were: every night adds some of each brand, and most say nothing later. */
export interface ChainScope {
  /** The pass of which every chain matters, if any. */
  readonly passId: string | null;
  /** Resources of which every chain matters, however old. */
  readonly lasting: readonly string[];
  /** Resources of which the chains of a single day matter, however old. */
  readonly daily: readonly string[];
}

/** What else is as old as this, counted from the newest, is not looked at. */
const RECENT = 'INTERVAL 8 DAY';

/** The chains that were read whole and matter, the latest read of each, in the order in which they were closed. */
export function readClosedChains(database: Database, { passId, lasting, daily }: ChainScope): Promise<ClosedChain[]> {
  return closedChains(
    database,
    `pass_id = CAST($1 AS UUID) OR list_contains($2, resource) OR (list_contains($3, resource) AND range_from = range_to)
       OR closed_at > (SELECT max(closed_at) FROM sync.coverage) - ${RECENT}`,
    [passId, lasting, daily],
  );
}

/** The chains of one resource of a brand that were ever read whole, in the order in which they were closed. */
export function readChainsOf(database: Database, resource: string, brandId: string): Promise<ClosedChain[]> {
  return closedChains(database, 'resource = $1 AND brand_id = CAST($2 AS UUID)', [resource, brandId]);
}

/** The ranges of a brand's resource that a run has read whole. */
export async function readRangesOf(
  database: Database,
  runId: string,
  resource: string,
  brandId: string,
): Promise<{ from: string; to: string }[]> {
  const rows = await database.exclusive((session) =>
    session.query(
      `SELECT strftime(range_from, '%Y-%m-%d'), strftime(range_to, '%Y-%m-%d') FROM sync.coverage
       WHERE run_id = CAST($1 AS UUID) AND resource = $2 AND brand_id = CAST($3 AS UUID)
         AND range_from IS NOT NULL AND range_to IS NOT NULL`,
      [runId, resource, brandId],
    ),
  );
  return rows.map(([from, to]) => ({ from: String(from), to: String(to) }));
}

async function closedChains(database: Database, where: string, values: readonly Parameter[]): Promise<ClosedChain[]> {
  const rows = await database.exclusive((session) =>
    session.all(
      `SELECT ${chainColumns}, epoch_ms(closed_at) AS at_ms, CAST(pass_id AS VARCHAR) AS pass_id, rows, state
       FROM sync.coverage WHERE ${where} ORDER BY closed_at`,
      values,
    ),
  );
  return rows.map((row) => ({
    ...chainOf(row),
    closedAt: Number(row['at_ms']),
    passId: String(row['pass_id']),
    rows: Number(row['rows']),
    state: (row['state'] ?? null) as string | null,
  }));
}

/** Ids of all chains that any pass has begun and not finished. */
export async function readBegunChains(database: Database): Promise<ReadonlySet<string>> {
  const rows = await database.exclusive((session) => session.all('SELECT DISTINCT chain FROM sync.checkpoints'));
  return new Set(rows.map((row) => String(row['chain'])));
}

/** Chains that a pass has begun and not finished. */
export async function readOpenChains(database: Database, passId: string): Promise<OpenChain[]> {
  const rows = await database.exclusive((session) =>
    session.all(
      `SELECT ${chainColumns}, max(page) AS pages, arg_max(next_cursor, page) AS next, epoch_ms(max(read_at)) AS at_ms
       FROM sync.checkpoints WHERE pass_id = CAST($1 AS UUID) GROUP BY ALL`,
      [passId],
    ),
  );
  return rows.map((row) => ({
    ...chainOf(row),
    pages: Number(row['pages']),
    next: (row['next'] ?? null) as string | null,
    at: Number(row['at_ms']),
  }));
}

function chainOf(row: Readonly<Record<string, unknown>>) {
  const text = (name: string): string | null => (row[name] === null ? null : String(row[name]));
  return {
    id: String(row['id']),
    resource: String(row['resource']),
    brandId: text('brand_id'),
    from: text('range_from'),
    to: text('range_to'),
  };
}
