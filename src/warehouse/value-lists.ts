import type { Catalogue } from '../contract/catalogue.ts';
import type { ListField } from '../contract/parameters.ts';
import { columnAt } from './conditions.ts';
import type { Query } from './database.ts';
import { quoted } from './schema.ts';

/** Returns the values of a list; null if the list is not synced. */
export type ValuesOf = (list: ListField) => ReadonlySet<string> | null;

/**
 * Reads the values that parameters may have. Slugs that were ever listed stay allowed, because stored responses may contain them;
 * ids of deleted rows do not.
 */
export async function readValueLists(query: Query, catalogue: Catalogue): Promise<ValuesOf> {
  const lists = new Map<string, ReadonlySet<string>>();
  const parameters = catalogue.resources.flatMap((resource) => Object.values(resource.query));
  const wanted = parameters.flatMap(({ oneOf, idOf }) => [
    ...(oneOf === undefined ? [] : [{ list: oneOf, where: '' }]),
    ...(idOf === undefined ? [] : [{ list: idOf, where: 'WHERE "_deleted_at" IS NULL' }]),
  ]);
  for (const { list, where } of wanted) {
    const { derived } = catalogue.get(list.resource);
    const table = derived.find(({ name }) => list.table === undefined || name === list.table);
    const column = table === undefined ? null : columnAt(table, list.field);
    if (table === undefined || column === null || lists.has(nameOf(list))) continue;
    const rows = await query(
      `SELECT CAST(${quoted(column.name)} AS VARCHAR) FROM ${quoted(table.name)} ${where} ORDER BY "_deleted_at" NULLS FIRST, rowid`,
    );
    if (rows.length > 0) lists.set(nameOf(list), new Set(rows.map(([value]) => String(value))));
  }
  return (list) => lists.get(nameOf(list)) ?? null;
}

function nameOf({ resource, table = '', field }: ListField): string {
  return `${resource}.${table}.${field}`;
}
