import type { Values } from '../../contract/rows.ts';
import { type Column, pointerOfColumn, type ResourceTable } from '../../contract/tables.ts';
import { derivationOf } from '../derived-columns.ts';
import { quoted } from '../schema.ts';
import { sameKey, staged } from './staging.ts';

/** SQL fragments of one table. The only parameter $1 is the list of rows, aliased `s`. */
export interface Statements {
  /** Columns of each staged row. */
  readonly staged: readonly Column[];
  /** SQL of a subquery with the staged rows, and with what derived columns need. */
  readonly rows: string;
  /** Condition that `t` and `s` have the same key. */
  readonly matches: string;
  /** SQL of a column's value in a staged row. */
  value(column: Column): string;
}

/** Builds the fragments for `columns`. */
export function statementsOf(columns: readonly Column[], key: readonly string[]): Statements {
  const own = columns.filter((column) => pointerOfColumn(column) === null);
  const derived = derivationOf(columns);
  return {
    staged: own,
    rows: derived.over(staged(own, '$1')),
    matches: sameKey('t', 's', key),
    value: (column) => (pointerOfColumn(column) === null ? `s.${quoted(column.name)}` : derived.value(column, 's')),
  };
}

/** Returns an INSERT of the staged rows, or of the rows of `source`. */
export function insertSql(table: string, columns: readonly Column[], statements: Statements, source?: string): string {
  const names = columns.map((column) => quoted(column.name)).join(', ');
  const values = columns.map((column) => statements.value(column)).join(', ');
  return `INSERT INTO ${quoted(table)} (${names}) SELECT ${values} FROM ${source ?? statements.rows} s`;
}

/** Returns an UPDATE of the columns outside the key, from the staged rows. `more` are further assignments. */
export function updateSql(
  { name: table, key }: ResourceTable,
  columns: readonly Column[],
  statements: Statements,
  more: readonly string[] = [],
): string {
  const assigned = columns.filter(({ name }) => !key.includes(name));
  const own = assigned.map((column) => `${quoted(column.name)} = ${statements.value(column)}`);
  return `UPDATE ${quoted(table)} AS t SET ${[...own, ...more].join(', ')} FROM ${statements.rows} s WHERE ${statements.matches}`;
}

/** Returns only the named columns of a row, null if missing. */
export function pickColumns(values: Values, columns: readonly Column[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const { name } of columns) picked[name] = values[name] ?? null;
  return picked;
}
