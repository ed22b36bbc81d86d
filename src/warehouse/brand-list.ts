import { brandListOf, type Catalogue } from '../contract/catalogue.ts';
import type { ResourceTable } from '../contract/tables.ts';
import { columnAt } from './conditions.ts';
import type { Query } from './database.ts';
import { quoted } from './schema.ts';

/** A brand of the list of brands. `since` is its first day with data, YYYY-MM-DD. */
export interface ListedBrand {
  readonly id: string;
  readonly name: string | null;
  readonly since: string | null;
}

/** Returns the name of the table with the list of brands, and of its column with the id. */
export function brandTableOf(catalogue: Catalogue): { readonly name: string; readonly id: string } {
  const { provides, derived } = brandListOf(catalogue);
  const table = derived[0] as ResourceTable;
  return { name: table.name, id: columnAt(table, provides?.id ?? '')?.name ?? '' };
}

/** Reads the stored brands in upstream's order, without the deleted ones unless `deleted` is true. */
export async function readBrandList(
  query: Query,
  catalogue: Catalogue,
  { deleted = false } = {},
): Promise<ListedBrand[]> {
  const { provides, derived } = brandListOf(catalogue);
  const table = derived[0] as ResourceTable;
  const [id, name, since] = (['id', 'name', 'since'] as const).map((part) =>
    quoted(columnAt(table, provides?.[part] ?? '')?.name ?? ''),
  );
  const rows = await query(
    `SELECT CAST(${id} AS VARCHAR), ${name}, strftime(${since}, '%Y-%m-%d') FROM ${quoted(table.name)}
     ${deleted ? '' : 'WHERE "_deleted_at" IS NULL'} ORDER BY rowid`,
  );
  return rows.map(([brandId, label, day]) => ({
    id: String(brandId),
    name: label as string | null,
    since: day as string | null,
  }));
}
