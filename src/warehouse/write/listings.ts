import type { Values } from '../../contract/rows.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import type { Bindings } from '../conditions.ts';
import type { Session } from '../database.ts';
import type { SliceRef } from '../ledger/ledger.ts';
import { quoted, sqlTypes } from '../schema.ts';

/** SQL that sorts the rows of `t` as upstream listed them; rows that the stored list lacks come last. */
export interface ListingOrder {
  readonly join: string;
  readonly orderBy: string;
}

/** The columns set by the request of a list, besides that of its brand. */
function scopeOf({ fixed }: ResourceTable, values: Values): string {
  return fixed
    .filter((name) => name !== 'brand_id')
    .map((name) => ` ${name}=${String(values[name])}`)
    .join('');
}

function keyColumnsOf({ key, fixed, columns }: ResourceTable): ResourceTable['columns'] {
  return key.filter((name) => !fixed.includes(name)).flatMap((name) => columns.find((one) => one.name === name) ?? []);
}

/**
 * Returns SQL for the stored order of a list. `fixed` are the columns set by the request, besides that of the brand; `others` sorts rows
 * that the stored order lacks.
 */
export function listingOrder(
  resource: string,
  table: ResourceTable,
  brandId: string | null,
  bindings: Bindings,
  { fixed = {}, others: unlisted = 't.rowid' }: { readonly fixed?: Values; readonly others?: string } = {},
): ListingOrder {
  const columns = keyColumnsOf(table);
  const [only, ...others] = columns;
  if (only === undefined) return { join: '', orderBy: unlisted };
  const brand = brandId === null ? 'brand_id IS NULL' : `brand_id = CAST(${bindings.bind(brandId)} AS UUID)`;
  const listed = `SELECT unnest(keys) AS key, generate_subscripts(keys, 1) AS place FROM sync.listings
    WHERE resource = ${bindings.bind(resource)} AND table_name = ${bindings.bind(`${table.name}${scopeOf(table, fixed)}`)} AND ${brand}`;
  const isSame =
    others.length === 0
      ? `listed.key = CAST(t.${quoted(only.name)} AS VARCHAR)`
      : columns
          .map(({ name, kind }, index) => {
            const value = `TRY_CAST(json_extract_string(listed.key, '$[${index}]') AS ${sqlTypes[kind]})`;
            return `${value} IS NOT DISTINCT FROM t.${quoted(name)}`;
          })
          .join(' AND ');
  return { join: `LEFT JOIN (${listed}) listed ON ${isSame}`, orderBy: `listed.place NULLS LAST, ${unlisted}` };
}

/** Stores the order of a list's keys; returns whether it changed. */
export async function writeListing(
  session: Session,
  slice: SliceRef,
  table: ResourceTable,
  rows: readonly Values[],
): Promise<boolean> {
  const brandId = (slice.fixed['brand_id'] ?? null) as string | null;
  const names = keyColumnsOf(table).map(({ name }) => name);
  const [only = ''] = names;
  if (names.length === 0 || table.declaration.at === 'body') return false;
  const texts = rows.map((row) =>
    names.length === 1 ? String(row[only]) : JSON.stringify(names.map((name) => textOf(row[name]))),
  );
  // A row can move from one page to the next while the pages are read.
  const keys = [...new Set(texts)];
  const list = `${table.name}${scopeOf(table, slice.fixed)}`;
  const condition = `resource = $1 AND table_name = $2 AND brand_id IS NOT DISTINCT FROM CAST($3 AS UUID)`;
  const same = await session.all(`SELECT 1 FROM sync.listings WHERE ${condition} AND keys = $4`, [
    slice.resource,
    list,
    brandId,
    keys,
  ]);
  if (same.length > 0) return false;
  await session.run(`DELETE FROM sync.listings WHERE ${condition}`, [slice.resource, list, brandId]);
  await session.run('INSERT INTO sync.listings SELECT $1, $2, CAST($3 AS UUID), $4', [
    slice.resource,
    list,
    brandId,
    keys,
  ]);
  return true;
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
