import type { Catalogue } from '../contract/catalogue.ts';
import type { ListField } from '../contract/parameters.ts';
import type { KnownValues } from '../contract/query-parameters.ts';
import { columnAt } from './conditions.ts';
import type { Query } from './database.ts';
import { quoted } from './schema.ts';

/** Reads the values that parameters may have. Slugs that were ever listed stay allowed, because stored responses may contain them. */
export async function readValueLists(query: Query, catalogue: Catalogue): Promise<KnownValues> {
  const lists = new Map<string, ReadonlySet<string>>();
  for (const { oneOf } of catalogue.resources.flatMap((resource) => Object.values(resource.query))) {
    if (oneOf === undefined || lists.has(nameOf(oneOf))) continue;
    const slugs = await readSlugs(query, catalogue, oneOf);
    if (slugs.length > 0) lists.set(nameOf(oneOf), new Set(slugs));
  }
  return (list) => lists.get(nameOf(list)) ?? null;
}

// In the order of the list, because messages name the allowed slugs.
async function readSlugs(query: Query, catalogue: Catalogue, list: ListField): Promise<string[]> {
  const { name, column } = placeOf(catalogue, list);
  if (column === null) return [];
  const rows = await query(`SELECT CAST(${column} AS VARCHAR) FROM ${name} ORDER BY "_deleted_at" NULLS FIRST, rowid`);
  return rows.map(([value]) => String(value));
}

function placeOf(
  catalogue: Catalogue,
  { resource, table: wanted, field }: ListField,
): { name: string; column: string | null } {
  const tables = catalogue.get(resource).derived.flatMap((table) => [table, ...table.children]);
  const table = wanted === undefined ? tables[0] : tables.find(({ name }) => name === wanted);
  const column = table === undefined ? null : columnAt(table, field);
  return { name: quoted(table?.name ?? ''), column: column === null ? null : quoted(column.name) };
}

function nameOf({ resource, table = '', field }: ListField): string {
  return `${resource}.${table}.${field}`;
}
