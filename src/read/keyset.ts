import { toSortKey } from '../contract/list-order.ts';
import type { Column, ResourceTable } from '../contract/tables.ts';
import { type Bindings, columnAt, ownKeyOf } from '../warehouse/conditions.ts';
import { quoted, sqlTypes } from '../warehouse/schema.ts';
import type { StoredRequest } from './stored-request.ts';

/** The order of a page: newest first by a time, and then by other keys. Texts that are missing are sorted as if they were empty. */
export interface PageOrder {
  readonly time: Column;
  readonly ties: readonly { readonly sql: (alias: string) => string; readonly direction: 'ASC' | 'DESC' }[];
}

/** Returns the order of a list's pages. */
export function pageOrder(request: Pick<StoredRequest, 'order' | 'resource'>, table: ResourceTable): PageOrder {
  const [first, ...others] = request.order;
  const declared = timeColumnOf(request, table);
  const time = first === undefined ? declared : (columnAt(table, toSortKey(first).field) ?? declared);
  const key = ownKeyOf(table);
  const known = others.map(toSortKey).flatMap(({ field, ...form }) => {
    const column = columnAt(table, field);
    return column === null ? [] : [{ ...form, column }];
  });
  const isTotal = known.some(({ column }) => column.name === key);
  const ties = known.map(({ column: { name, kind }, isDescending, ignoresCase }) => {
    const sql = (alias: string): string => {
      const plain = `${alias}.${quoted(name)}`;
      const filled = kind === 'text' ? `coalesce(${plain}, '')` : plain;
      return ignoresCase ? `lower(${filled})` : filled;
    };
    return { sql, direction: isDescending ? ('DESC' as const) : ('ASC' as const) };
  });
  const last = { sql: (alias: string) => `${alias}.${quoted(key)}`, direction: 'DESC' as const };
  return { time, ties: isTotal ? ties : [...ties, last] };
}

/** Returns the conditions for the rows after the previous page. Its last row is read by its key to compare the other sort keys. */
export function afterConditions(
  { after, brandId, resource }: StoredRequest,
  table: ResourceTable,
  { time, ties }: PageOrder,
  bindings: Bindings,
): readonly string[] {
  if (after === null) return [];
  const at = `t.${quoted(time.name)}`;
  const moment = after.at === null ? null : `CAST(${bindings.bind(after.at)} AS ${sqlTypes[time.kind]})`;
  const key = quoted(ownKeyOf(table));
  const id = `CAST(${bindings.bind(after.id)} AS ${keyTypeOf(table)})`;
  const isKey = (sql: string): boolean => sql === `t.${key}`;
  const isLast = (): string => {
    const scope = resource.scope === 'brand' ? brandId : null;
    const brand = scope === null ? '' : ` AND l.brand_id = CAST(${bindings.bind(scope)} AS UUID)`;
    return `l.${key} = ${id} AND l.${quoted(time.name)} ${moment === null ? 'IS NULL' : `= ${moment}`}${brand}`;
  };
  const lastValue = (sql: (alias: string) => string): string =>
    isKey(sql('t')) ? id : `(SELECT ${sql('l')} FROM ${quoted(table.name)} l WHERE ${isLast()} LIMIT 1)`;
  const later = ties.map(({ sql, direction }, index) => {
    const equal = ties.slice(0, index).map((tie) => `${tie.sql('t')} = ${lastValue(tie.sql)}`);
    return [...equal, `${sql('t')} ${direction === 'ASC' ? '>' : '<'} ${lastValue(sql)}`].join(' AND ');
  });
  const tied = `(${later.join(' OR ')})`;
  if (moment === null) return [`${at} IS NULL AND ${tied}`];
  // The first condition alone allows DuckDB to skip newer row groups.
  return [`(${at} <= ${moment} OR ${at} IS NULL)`, `(${at} < ${moment} OR ${at} IS NULL OR ${tied})`];
}

/** Returns the time by which a list with a declared order is read newest first. */
export function timeColumnOf({ resource }: Pick<StoredRequest, 'resource'>, table: ResourceTable): Column {
  const [first = '', ...others] = resource.order ?? [];
  const column = first.startsWith('-') ? columnAt(table, first.slice(1)) : null;
  if (column === null || others.length > 0)
    throw new TypeError(`${resource.name} must be ordered by one descending column`);
  return column;
}

/** Returns the SQL type of a table's key. */
export function keyTypeOf(table: ResourceTable): string {
  const key = ownKeyOf(table);
  return sqlTypes[table.columns.find(({ name }) => name === key)?.kind ?? 'uuid'];
}
