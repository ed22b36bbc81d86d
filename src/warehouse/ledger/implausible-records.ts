import type { Query, Session } from '../database.ts';
import { literal } from '../schema.ts';

/** Number of records in a table of schema `sync` that no correct sync can have written. */
export interface ImplausibleRecords {
  readonly table: string;
  readonly rows: number;
}

/** An existing file of raw pages; the name is relative to their folder. */
export interface RawFileSize {
  readonly name: string;
  readonly bytes: number;
}

/** Bounds of valid records. */
export interface RecordBounds {
  /** First and last day that a record may be about or may have been written on, both included. */
  readonly earliest: string;
  readonly latest: string;
  readonly rawFiles: readonly RawFileSize[];
}

/** Counts the out-of-bounds records of each table; omits tables without any. */
export async function findImplausibleRecords(query: Query, bounds: RecordBounds): Promise<ImplausibleRecords[]> {
  const found: ImplausibleRecords[] = [];
  for (const [table, condition] of conditionsOf(bounds)) {
    const [row] = await query(`SELECT count(*) FROM sync.${table} WHERE ${condition}`);
    const rows = Number(row?.[0] ?? 0);
    if (rows > 0) found.push({ table: `sync.${table}`, rows });
  }
  return found;
}

/** Deletes out-of-bounds records. The next sync reads their data again. */
export async function dropImplausibleRecords(session: Session, bounds: RecordBounds): Promise<void> {
  for (const [table, condition] of conditionsOf(bounds))
    await session.run(`DELETE FROM sync.${table} WHERE ${condition}`);
}

// A slice loses all of its checkpoints, because pages after a missing one cannot be continued. Conventions are deleted
// together, and the next calibration writes them again.
function conditionsOf({ earliest, latest, rawFiles }: RecordBounds): [table: string, condition: string][] {
  const within = (column: string): string =>
    `coalesce(CAST(${column} AS DATE) BETWEEN DATE ${literal(earliest)} AND DATE ${literal(latest)}, true)`;
  const range = `${within('range_from')} AND ${within('range_to')} AND coalesce(range_from <= range_to, true)`;
  const page = `${range} AND ${within('read_at')} AND page >= 1 AND unidentified >= 0`;
  const finding = `${within('decided_at')} AND compared >= agreed AND agreed >= 0 AND source IN ('learned', 'default')`;
  return [
    ['coverage', `NOT (${range} AND ${within('closed_at')} AND rows >= 0)`],
    ['checkpoints', `slice IN (SELECT slice FROM sync.checkpoints WHERE NOT (${page}))`],
    ['audits', `NOT (${within('day')} AND ${within('checked_at')} AND upstream >= 0 AND stored >= 0)`],
    ['verifications', `NOT (${within('day')} AND ${within('verified_at')})`],
    ['calibration', `EXISTS (SELECT 1 FROM sync.calibration WHERE NOT (${finding}))`],
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
