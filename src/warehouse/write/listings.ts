import type { ResourceTable } from '../../contract/tables.ts';
import { type Bindings, ownKeyOf } from '../conditions.ts';
import type { Session } from '../database.ts';
import type { SliceRef } from '../ledger/ledger.ts';
import { quoted } from '../schema.ts';

/** SQL that sorts the rows of `t` as upstream listed them; rows that the stored list lacks come last. */
export interface ListingOrder {
  readonly join: string;
  readonly orderBy: string;
}

/** Whether the order of a table's rows can be stored: requires one list per brand and a single key column. */
export function hasListing({ key, fixed }: ResourceTable): boolean {
  return fixed.every((name) => name === 'brand_id') && key.length === fixed.length + 1;
}

/** Returns SQL for the stored order of a list; `others` sorts rows that the stored order lacks. */
export function listingOrder(
  resource: string,
  table: ResourceTable,
  brandId: string | null,
  bindings: Bindings,
  others = 't.rowid',
): ListingOrder {
  if (!hasListing(table)) return { join: '', orderBy: others };
  const brand = brandId === null ? 'brand_id IS NULL' : `brand_id = CAST(${bindings.bind(brandId)} AS UUID)`;
  const listed = `SELECT unnest(keys) AS key, generate_subscripts(keys, 1) AS place FROM sync.listings
    WHERE resource = ${bindings.bind(resource)} AND table_name = ${bindings.bind(table.name)} AND ${brand}`;
  return {
    join: `LEFT JOIN (${listed}) listed ON listed.key = CAST(t.${quoted(ownKeyOf(table))} AS VARCHAR)`,
    orderBy: `listed.place NULLS LAST, ${others}`,
  };
}

/** Stores the order of a list's keys; returns whether it changed. */
export async function writeListing(
  session: Session,
  chain: SliceRef,
  table: string,
  keys: readonly string[],
): Promise<boolean> {
  const brandId = (chain.fixed['brand_id'] ?? null) as string | null;
  const condition = `resource = $1 AND table_name = $2 AND brand_id IS NOT DISTINCT FROM CAST($3 AS UUID)`;
  const same = await session.all(`SELECT 1 FROM sync.listings WHERE ${condition} AND keys = $4`, [
    chain.resource,
    table,
    brandId,
    keys,
  ]);
  if (same.length > 0) return false;
  await session.run(`DELETE FROM sync.listings WHERE ${condition}`, [chain.resource, table, brandId]);
  await session.run('INSERT INTO sync.listings SELECT $1, $2, CAST($3 AS UUID), $4', [
    chain.resource,
    table,
    brandId,
    keys,
  ]);
  return true;
}
