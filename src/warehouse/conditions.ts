import type { Catalogue } from '../contract/catalogue.ts';
import type { Filter, Parameter, Parameters } from '../contract/parameters.ts';
import type { Query } from '../contract/query-parameters.ts';
import type { ChildTable, Column, ResourceTable } from '../contract/tables.ts';
import { addDays, DAY_MAX } from '../contract/time.ts';
import type { Parameter as Value } from './database.ts';
import { quoted, sqlTypes } from './schema.ts';

/** The parameter values of a statement, collected while its SQL is built. */
export interface Bindings {
  readonly values: readonly Value[];
  /** Adds a value and returns its placeholder, such as `$1`. */
  bind(value: Value): string;
}

/** Creates bindings without values. */
export function createBindings(): Bindings {
  const values: Value[] = [];
  return {
    values,
    bind: (value) => {
      values.push(value);
      return `$${values.length}`;
    },
  };
}

/** The rows that conditions apply to. */
export interface Target {
  /**
   * The requested days, if the rows have a time. Nested arrays that repeat the time are then read only within the
   * range.
   */
  readonly range?: { readonly from: string; readonly to: string };
  readonly catalogue: Catalogue;
  /** The table that contains the fields of the parameters. */
  readonly table: ResourceTable;
  /** Alias of the table, or of a child table that repeats its fields. */
  readonly alias: string;
  readonly brandId: string | null;
  /** Whether filters by a list also match its deleted rows; default false. */
  readonly keepsDeleted?: boolean;
}

/**
 * Returns the conditions of a request's parameters except its range. Parameters without a matching field add no
 * condition.
 */
export function parameterConditions(
  target: Target,
  declared: Parameters,
  values: Query['values'],
  bindings: Bindings,
): string[] {
  const { table, alias } = target;
  return Object.entries(declared).flatMap(([name, parameter]) => {
    const value = values[name];
    if (value === undefined || !keepsRows(parameter)) return [];
    if (parameter.filter === undefined) {
      const column = columnAt(table, name);
      return column === null ? [] : [equals(alias, column, value, bindings)];
    }
    return filterConditions(target, parameter.filter, value, bindings);
  });
}

/** Returns conditions for rows that are not deleted and belong to `brandId`, if it is given. */
export function liveConditions(alias: string, brandId: string | null, bindings: Bindings): string[] {
  const live = `${alias}."_deleted_at" IS NULL`;
  return brandId === null ? [live] : [`${alias}.brand_id = CAST(${bindings.bind(brandId)} AS UUID)`, live];
}

/** Returns the condition that a time or a day lies within a range of days, both included. */
export function rangeCondition(column: string, range: { from: string; to: string }, bindings: Bindings): string {
  const first = `${column} >= CAST(${bindings.bind(range.from)} AS DATE)`;
  // The day after `DAY_MAX` has a five-digit year, which is not a valid day.
  if (range.to === DAY_MAX) return first;
  return `${first} AND ${column} < CAST(${bindings.bind(addDays(range.to, 1))} AS DATE)`;
}

/** Finds the column of a field, `topic.id` for a nested one; null if the table has none. */
export function columnAt({ columns }: { readonly columns: readonly Column[] }, path: string): Column | null {
  return columns.find(({ source }) => source.from === 'item' && source.path.join('.') === path) ?? null;
}

function keepsRows({ kind }: Parameter): boolean {
  return kind !== 'day' && kind !== 'limit' && kind !== 'cursor';
}

function filterConditions(
  { catalogue, table, alias, brandId, range, keepsDeleted = false }: Target,
  filter: Filter,
  value: string | number | boolean,
  bindings: Bindings,
): string[] {
  const idsWhere = (
    key: string,
    from: string,
    column: Column,
    wanted: string | number | boolean,
    within: readonly { column: Column; range: NonNullable<Target['range']> }[] = [],
    isLive = liveConditions('x', brandId, bindings),
  ): string => {
    const conditions = [
      ...isLive,
      equals('x', column, wanted, bindings),
      ...within.map((time) => rangeCondition(`x.${quoted(time.column.name)}`, time.range, bindings)),
    ];
    return `(SELECT x.${quoted(key)} FROM ${quoted(from)} x WHERE ${conditions.join(' AND ')})`;
  };
  switch (filter.by) {
    case 'inclusion':
      return value === true ? [] : [`${alias}.${quoted(fieldOf(table, filter.field).name)} IS DISTINCT FROM false`];
    case 'child': {
      const child = childOf(table, filter.child);
      const time = table.extent.kind === 'time' ? table.extent.field : null;
      const repeated = child.columns.find(({ source }) => source.from === 'parent' && source.column === time);
      const within = repeated === undefined || range === undefined ? [] : [{ column: repeated, range }];
      const ids = idsWhere(parentKeyOf(table, child), child.name, fieldOf(child, filter.field), value, within);
      return [`${alias}.${quoted(ownKeyOf(table))} IN ${ids}`];
    }
    case 'list': {
      const list = catalogue.get(filter.resource).derived[0] as ResourceTable;
      const wanted = filter.isTrue === undefined ? value : value === filter.isTrue;
      const child = filter.child === undefined ? null : childOf(list, filter.child);
      const key = child === null ? ownKeyOf(list) : parentKeyOf(list, child);
      const kept = keepsDeleted ? keptConditions(list, child, brandId, bindings) : undefined;
      const ids = idsWhere(key, (child ?? list).name, fieldOf(child ?? list, filter.field), wanted, [], kept);
      return [`${alias}.${quoted(fieldOf(table, filter.from).name)} IN ${ids}`];
    }
  }
}

/**
 * Returns conditions on `x`, a row of a list or of one of its nested arrays, that also keep deleted rows. The deletion of a
 * row deletes its nested rows at the same time, so earlier deleted ones were not a part of it.
 */
export function keptConditions(
  list: ResourceTable,
  child: ChildTable | null,
  brandId: string | null,
  bindings: Bindings,
): string[] {
  const ofBrand = brandId === null ? [] : [`x.brand_id = CAST(${bindings.bind(brandId)} AS UUID)`];
  if (child === null) return ofBrand;
  const owner = `SELECT 1 FROM ${quoted(list.name)} o
    WHERE o.${quoted(ownKeyOf(list))} = x.${quoted(parentKeyOf(list, child))} AND o."_deleted_at" = x."_deleted_at"`;
  return [...ofBrand, `(x."_deleted_at" IS NULL OR EXISTS (${owner}))`];
}

// Treats null as false: a filter for `false` also matches null.
function equals(alias: string, column: Column, value: string | number | boolean, bindings: Bindings): string {
  const name = `${alias}.${quoted(column.name)}`;
  if (typeof value === 'boolean') return value ? name : `${name} IS DISTINCT FROM true`;
  return `${name} = CAST(${bindings.bind(value)} AS ${sqlTypes[column.kind]})`;
}

function fieldOf(table: ResourceTable | ChildTable, path: string): Column {
  const column = columnAt(table, path);
  if (column === null) throw new TypeError(`table ${table.name} has no field ${path}`);
  return column;
}

/**
 * Returns the column that identifies rows of a list within their scope.
 * @throws TypeError unless exactly one does
 */
export function ownKeyOf(table: ResourceTable): string {
  const own = table.key.filter((name) => !table.fixed.includes(name));
  if (own.length !== 1) throw new TypeError(`table ${table.name} has no key of one column`);
  return own[0] as string;
}

/**
 * Returns the table of a nested array.
 * @throws TypeError if the table has no such array
 */
export function childOf(table: ResourceTable, field: string): ChildTable {
  const found = table.children.find((candidate) => candidate.field === field);
  if (found === undefined) throw new TypeError(`table ${table.name} has no nested array ${field}`);
  return found;
}

/** Returns the column of a child table that references its parent, within its scope. */
export function parentKeyOf(table: ResourceTable, child: ChildTable): string {
  const key = ownKeyOf(table);
  const link = child.columns.find(({ source }) => source.from === 'parent' && source.column === key);
  if (link === undefined) throw new TypeError(`table ${child.name} does not carry the key of ${table.name}`);
  return link.name;
}
