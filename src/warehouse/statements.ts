import type { Values } from '../contract/rows.ts';
import type { Column } from '../contract/tables.ts';
import type { Parameter } from './database.ts';
import { quoted, sqlTypes } from './schema.ts';
import { sameKey, staged } from './staging.ts';

/**
 * The SQL of one table. Rows come as list parameter $1, `s` in the statements; what all rows of an answer share (the
 * brand, a range, the time, the run) comes as parameters of its own from $2 on and is not repeated in every row.
 */
export interface Statements {
  /** Columns that each staged row carries. */
  readonly staged: readonly Column[];
  /** Staged columns that are part of the key. */
  readonly keys: readonly Column[];
  /** Condition that `t` has the key of `s`. */
  readonly matches: string;
  /** SQL of a column's value: of the staged row, or of its parameter. */
  value(column: Column): string;
  /** $1 and the shared parameters. */
  parameters(rows: readonly string[], shared: Values): Parameter[];
}

/** Statements over `columns`, of which those named in `shared` come as parameters. */
export function statementsOf(
  columns: readonly Column[],
  key: readonly string[],
  shared: readonly string[],
): Statements {
  const common = columns.filter((column) => shared.includes(column.name));
  const own = columns.filter((column) => !shared.includes(column.name));
  const value = (column: Column): string => {
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
    keys,
    matches: conditions.join(' AND '),
    value,
    parameters: (rows, values) => [rows, ...common.map(({ name }) => (values[name] ?? null) as Parameter)],
  };
}

/** INSERT of staged rows. */
export function insertSql(table: string, columns: readonly Column[], statements: Statements, source?: string): string {
  const names = columns.map((column) => quoted(column.name)).join(', ');
  const values = columns.map((column) => statements.value(column)).join(', ');
  return `INSERT INTO ${quoted(table)} (${names}) SELECT ${values} FROM ${source ?? staged(statements.staged, '$1')} s`;
}

/** The named columns of a row and nothing else. */
export function pickColumns(values: Values, columns: readonly Column[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const { name } of columns) picked[name] = values[name] ?? null;
  return picked;
}
