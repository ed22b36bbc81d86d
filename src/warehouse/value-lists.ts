import type { Catalogue } from '../contract/catalogue.ts';
import type { ListField } from '../contract/parameters.ts';
import type { KnownValues } from '../contract/query-parameters.ts';
import { columnAt } from './conditions.ts';
import type { Query } from './database.ts';
import { quoted } from './schema.ts';

/**
 * Reads the values that parameters may have. Slugs that were ever listed stay allowed, because stored responses may contain them. Ids of
 * deleted rows are read only if `withDeleted` is set: those that were stored, and those that other stored rows have.
 */
export async function readValueLists(query: Query, catalogue: Catalogue, withDeleted: boolean): Promise<KnownValues> {
  const current = new Map<string, ReadonlySet<string>>();
  const deleted = new Map<string, ReadonlySet<string>>();
  const read = async (list: ListField, where: string): Promise<string[]> => {
    const { name, column } = placeOf(catalogue, list);
    if (column === null) return [];
    const rows = await query(`SELECT DISTINCT CAST(${column} AS VARCHAR) FROM ${name} ${where}`);
    return rows.flatMap(([value]) => (value === null ? [] : [String(value)]));
  };
  const keep = (into: Map<string, ReadonlySet<string>>, list: ListField, values: readonly string[]): void => {
    if (values.length > 0) into.set(nameOf(list), new Set(values));
  };
  for (const { oneOf, idOf } of catalogue.resources.flatMap((resource) => Object.values(resource.query))) {
    const list = oneOf ?? idOf;
    if (list === undefined || current.has(nameOf(list))) continue;
    keep(
      current,
      list,
      oneOf === undefined ? await read(list, 'WHERE "_deleted_at" IS NULL') : await readSlugs(query, catalogue, list),
    );
    if (!withDeleted || idOf === undefined) continue;
    const seen = idOf.seenIn === undefined ? [] : await read(idOf.seenIn, '');
    keep(deleted, list, [...(await read(list, 'WHERE "_deleted_at" IS NOT NULL')), ...seen]);
  }
  return {
    of: (list) => current.get(nameOf(list)) ?? null,
    isDeleted: (list, value) => deleted.get(nameOf(list))?.has(value) === true,
  };
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
