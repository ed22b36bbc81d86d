import type { Session } from '../../warehouse/database.ts';
import { dayConditions } from '../../warehouse/file/refresh-copy.ts';
import { INSTANT, literal, quoted } from '../../warehouse/schema.ts';
import { type Attachment, tableAt } from './kinds.ts';
import type { DestinationTable } from './loaded-table.ts';
import { deleteValues, inOwnSql } from './own-sql.ts';

/**
 * Parts of a table by day, with the number of rows and their combined hashes. Rows without a time are in the part with an empty name.
 * The hash of a row covers its columns; the hashes of a part are combined by sum and by exclusive or.
 */
export type Parts = ReadonlyMap<string, { readonly rows: number; readonly hashes: string }>;
type PartsOfTables = ReadonlyMap<string, Parts>;

/** Table with the parts of loaded tables, such as `sightline.responses 2026-03-01`. The row of no table has the identity of the load. */
export const PARTS = '_sightline_parts';
export const PARTS_COLUMNS = { workspace: 'name', part: 'name', rows: 'integer', hashes: 'text' } as const;
const OF_LOAD = '';

/** Returns SQL of the day of a row. Converts the time to a TIMESTAMP, because truncating a TIMESTAMPTZ takes longer than hashing the row. */
export function dayOfRow({ time }: DestinationTable): string {
  return time === undefined ? 'NULL::DATE' : `CAST(make_timestamp(epoch_us(${quoted(time)})) AS DATE)`;
}

/** Returns the parts of rows with the columns `_day` and `_hash`. */
export async function readParts(session: Session, rows: string): Promise<Parts> {
  const found = await session.query(
    `SELECT coalesce(CAST(_day AS VARCHAR), ''), count(*), sum(hash(_hash)) || ' ' || bit_xor(_hash) FROM ${rows} GROUP BY _day`,
  );
  return new Map(found.map(([day, count, hashes]) => [String(day), { rows: Number(count), hashes: String(hashes) }]));
}

/** Returns the names of the parts that differ. */
export function changedParts(before: Parts, after: Parts): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name)?.hashes !== after.get(name)?.hashes).toSorted();
}

/** Returns the number of rows in the named parts; default: in all. */
export function rowsOf(parts: Parts, names: readonly string[] = [...parts.keys()]): number {
  return names.reduce((sum, name) => sum + (parts.get(name)?.rows ?? 0), 0);
}

/** Returns SQL of the condition that a row is in one of the parts. `names` are sorted. A destination may store times as texts. */
export function inParts({ time = '' }: DestinationTable, names: readonly string[]): string {
  const column = `CAST(${quoted(time)} AS ${INSTANT})`;
  const conditions = `(${dayConditions(column, names).join(' OR ')})`;
  if (names.includes('')) return conditions;
  // DuckDB passes a comparison with two constants to another database, but not several ranges.
  const [first, last] = [literal(names[0] ?? ''), literal(names.at(-1) ?? '')];
  return `${column} >= DATE ${first} AND ${column} < DATE ${last} + INTERVAL 1 DAY AND ${conditions}`;
}

/** Returns the stored parts of a workspace's tables, or null if another load than the one with this identity stored them. */
export async function readStoredParts(
  session: Session,
  schema: string,
  workspace: string,
  identity: string,
): Promise<PartsOfTables | null> {
  const found = await session.query(
    `SELECT part, rows, hashes FROM ${tableAt(schema, PARTS)} WHERE workspace = ${literal(workspace)}`,
  );
  const known = new Map<string, Map<string, { rows: number; hashes: string }>>();
  for (const [part, rows, hashes] of found) {
    const [id = '', name = ''] = String(part).split(' ');
    known.set(id, (known.get(id) ?? new Map()).set(name, { rows: Number(rows), hashes: String(hashes) }));
  }
  return known.get(OF_LOAD)?.get('')?.hashes === identity ? known : null;
}

/** Replaces the stored parts of a workspace's tables. `before` has the stored parts, or null to replace all. */
export async function storeParts(
  session: Session,
  attachment: Attachment,
  { workspace, identity }: { readonly workspace: string; readonly identity: string },
  [before, after]: readonly [PartsOfTables | null, PartsOfTables],
): Promise<void> {
  const next = new Map(after).set(OF_LOAD, new Map([['', { rows: 0, hashes: identity }]]));
  const changed = [...new Set([...(before?.keys() ?? []), ...next.keys()])].flatMap((id) => {
    const is: Parts = next.get(id) ?? new Map();
    const names = changedParts(before?.get(id) ?? new Map(), is);
    return names.map((name) => ({ part: `${id} ${name}`, ...is.get(name) }));
  });
  await session.run('CREATE OR REPLACE TEMP TABLE parts (part VARCHAR, rows BIGINT, hashes VARCHAR)');
  const structs = `[{"part":"VARCHAR","rows":"BIGINT","hashes":"VARCHAR"}]`;
  await session.run(`INSERT INTO temp.parts SELECT unnest(from_json($1, '${structs}'), recursive := true)`, [
    JSON.stringify(changed),
  ]);
  const path = [attachment.schema, PARTS];
  const where = `workspace = ${literal(workspace)}`;
  const replaced = { where, column: 'part', values: 'SELECT part FROM temp.parts' };
  if (before === null) await session.run(inOwnSql(attachment, path, (at) => `DELETE FROM ${at} WHERE ${where}`));
  else await deleteValues(session, attachment, path, replaced);
  await session.run(
    `INSERT INTO ${tableAt(attachment.schema, PARTS)} SELECT ${literal(workspace)}, * FROM temp.parts WHERE rows IS NOT NULL`,
  );
}
