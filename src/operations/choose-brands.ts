import { chooseNamed, type Named } from '../base/choose-name.ts';
import { type Catalogue, findProvider } from '../contract/catalogue.ts';
import type { ResourceTable } from '../contract/tables.ts';
import { columnAt } from '../warehouse/conditions.ts';
import type { Query } from '../warehouse/database.ts';
import { quoted } from '../warehouse/schema.ts';

const NEW_BRAND = 'A brand that was just created is known after `sightline sync --only brands`.';

/** Reads the ids and names of the stored brands, without the deleted ones unless `deleted` is true. */
export async function readBrandNames(query: Query, catalogue: Catalogue, { deleted = false } = {}): Promise<Named[]> {
  const provider = findProvider(catalogue, 'brand');
  if (provider === undefined) return [];
  const table = provider.derived[0] as ResourceTable;
  const id = quoted(columnAt(table, String(provider.provides?.id))?.name ?? '');
  const name = columnAt(table, 'name') === null ? 'NULL' : 'name';
  const rows = await query(
    `SELECT CAST(${id} AS VARCHAR), ${name} FROM ${quoted(table.name)}
     ${deleted ? '' : 'WHERE "_deleted_at" IS NULL'} ORDER BY rowid`,
  );
  return rows.map(([brand, shown]) => ({ id: String(brand), name: shown === null ? null : String(shown) }));
}

/**
 * Returns the ids of the brands that a user selected by id, name or the beginning of either; null if none was selected.
 *
 * @throws `usage` for an unknown or ambiguous brand.
 */
export function chooseBrandIds(known: readonly Named[], wanted: readonly string[] | null): string[] | null {
  if (wanted === null) return null;
  return [...new Set(wanted.map((given) => chooseNamed('brand', given, known, NEW_BRAND).id))];
}
