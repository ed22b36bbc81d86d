import type { Query, Session } from './database.ts';
import { literal } from './schema.ts';

/** Records of schema `sync` that no sync can have written rightly. */
export interface ImplausibleRecords {
  readonly table: string;
  readonly rows: number;
}

/** A file of raw pages that is there, relative to their folder. */
export interface RawFileSize {
  readonly name: string;
  readonly bytes: number;
}

/** What records are compared with. */
export interface RecordBounds {
  /** First and last day that a record may be about or may have been written on, both included. */
  readonly earliest: string;
  readonly latest: string;
  readonly rawFiles: readonly RawFileSize[];
}

/** Counts the records of each table that lie outside the bounds; tables without any are left out. */
export async function findImplausibleRecords(query: Query, bounds: RecordBounds): Promise<ImplausibleRecords[]> {
  const found: ImplausibleRecords[] = [];
  // A warehouse of an older version lacks some of the tables.
  const tables = await query("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'sync' AND NOT internal");
  const existing = new Set(tables.map(([name]) => String(name)));
  for (const [table, condition] of conditionsOf(bounds)) {
    if (!existing.has(table)) continue;
    const [row] = await query(`SELECT count(*) FROM sync.${table} WHERE ${condition}`);
    const rows = Number(row?.[0] ?? 0);
    if (rows > 0) found.push({ table: `sync.${table}`, rows });
  }
  return found;
}

/** Deletes the records outside the bounds. The next sync reads again what they were about. */
export async function dropImplausibleRecords(session: Session, bounds: RecordBounds): Promise<void> {
  for (const [table, condition] of conditionsOf(bounds))
    await session.run(`DELETE FROM sync.${table} WHERE ${condition}`);
}

// A chain is dropped with all of its checkpoints: the pages after a missing one cannot be continued. Conventions are
// written as a whole, and learned again if there are none.
function conditionsOf({ earliest, latest, rawFiles }: RecordBounds): [table: string, condition: string][] {
  const within = (column: string): string =>
    `coalesce(CAST(${column} AS DATE) BETWEEN DATE ${literal(earliest)} AND DATE ${literal(latest)}, true)`;
  const range = `${within('range_from')} AND ${within('range_to')} AND coalesce(range_from <= range_to, true)`;
  const page = `${range} AND ${within('read_at')} AND page >= 1 AND unidentified >= 0`;
  const finding = `${within('decided_at')} AND compared >= agreed AND agreed >= 0 AND source IN ('learned', 'default')`;
  return [
    ['coverage', `NOT (${range} AND ${within('closed_at')} AND rows >= 0)`],
    ['checkpoints', `chain IN (SELECT chain FROM sync.checkpoints WHERE NOT (${page}))`],
    ['audits', `NOT (${within('day')} AND ${within('checked_at')} AND upstream >= 0 AND held >= 0)`],
    ['verifications', `NOT (${within('day')} AND ${within('verified_at')})`],
    ['conventions', `EXISTS (SELECT 1 FROM sync.conventions WHERE NOT (${finding}))`],
    ['raw_pages', `NOT (${within('received_at')} AND position >= 0 AND bytes > 0 AND ${isInFile(rawFiles)})`],
  ];
}

// A file that is missing was removed, or stayed on the machine that the warehouse was restored from; the next sync deletes
// such rows.
function isInFile(files: readonly RawFileSize[]): string {
  if (files.length === 0) return 'true';
  const sizes = files.map(({ name, bytes }) => `(${literal(name)}, ${bytes})`).join(', ');
  return `coalesce(position + bytes <= (SELECT size FROM (VALUES ${sizes}) f(name, size) WHERE f.name = file), true)`;
}
