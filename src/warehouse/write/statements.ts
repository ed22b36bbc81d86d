import type { Values } from '../../contract/rows.ts';
import { type Column, pointerOfColumn } from '../../contract/tables.ts';
import type { Parameter } from '../database.ts';
import { derivationOf } from '../derived-columns.ts';
import { quoted, sqlTypes } from '../schema.ts';
import { sameKey, staged } from './staging.ts';

/**
 * SQL fragments of one table. Rows are list parameter $1, aliased `s`. Values that all rows of a page share (brand,
 * range, time, run) are separate parameters from $2 on and not repeated in each row.
 */
export interface Statements {
  /** Columns of each staged row. */
  readonly staged: readonly Column[];
  /** Staged columns that belong to the key. */
  readonly keys: readonly Column[];
  /** SQL of a subquery with the staged rows, and with what derived columns need. */
  readonly rows: string;
  /** Condition that `t` and `s` have the same key. */
  readonly matches: string;
  /** SQL of a column's value, from the staged row or from its parameter. */
  value(column: Column): string;
  /** The values of $1 and of the shared parameters. */
  parameters(rows: readonly string[], shared: Values): Parameter[];
}

/** Builds the fragments for `columns`; those named in `shared` are parameters. */
export function statementsOf(
  columns: readonly Column[],
  key: readonly string[],
  shared: readonly string[],
): Statements {
  const common = columns.filter((column) => shared.includes(column.name));
  const own = columns.filter((column) => !shared.includes(column.name) && pointerOfColumn(column) === null);
  const derived = derivationOf(columns);
  const value = (column: Column): string => {
    if (pointerOfColumn(column) !== null) return derived.value(column, 's');
    const index = common.indexOf(column);
    return index < 0 ? `s.${quoted(column.name)}` : `CAST($${index + 2} AS ${sqlTypes[column.kind]})`;
  };
  const keys = own.filter((column) => key.includes(column.name));
  const sharedKeys = common.filter((column) => key.includes(column.name));
  const conditions = sharedKeys.map((column) => `t.${quoted(column.name)} IS NOT DISTINCT FROM ${value(column)}`);
  if (keys.length > 0)
    conditions.push(
      sameKey(
        't',
        's',
        keys.map((column) => column.name),
      ),
    );
  return {
    staged: own,
    rows: derived.over(staged(own, '$1')),
    keys,
    matches: conditions.join(' AND '),
    value,
    parameters: (rows, values) => [rows, ...common.map(({ name }) => (values[name] ?? null) as Parameter)],
  };
}

/** Returns an INSERT of the staged rows, or of the rows of `source`. */
export function insertSql(table: string, columns: readonly Column[], statements: Statements, source?: string): string {
  const names = columns.map((column) => quoted(column.name)).join(', ');
  const values = columns.map((column) => statements.value(column)).join(', ');
  return `INSERT INTO ${quoted(table)} (${names}) SELECT ${values} FROM ${source ?? statements.rows} s`;
}

/** Returns only the named columns of a row, null if missing. */
export function pickColumns(values: Values, columns: readonly Column[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const { name } of columns) picked[name] = values[name] ?? null;
  return picked;
}
