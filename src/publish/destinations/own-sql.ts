import type { Session } from '../../warehouse/database.ts';
import { literal, quoted } from '../../warehouse/schema.ts';
import type { ExportedTable } from '../snapshot/exported-table.ts';

/** Name under which a destination is attached. */
export const DESTINATION = 'destination';
/** Maximum number of values in a DELETE statement. */
const VALUES_MAX = 1_000;

type Columns = ExportedTable['columns'];

/** SQL that the database of a destination runs. */
export interface OwnSql {
  /** Returns a statement of DuckDB that runs `sql` in the destination, within the transaction. */
  readonly run: (sql: string) => string;
  /** Makes DuckDB read the columns of tables again. */
  readonly forget: string;
  readonly quoted: (name: string) => string;
  /** Follows the columns of a new table; null if DuckDB creates schemas and tables. */
  readonly options: string | null;
  /** Returns a statement that sets the comments of a table and of some columns. */
  readonly describe: (table: string, about: string, columns: Columns) => string;
  /** Whether `describe` also sets the types of the columns, which keep their values. */
  readonly describesTypes: boolean;
}

/** Returns statements of DuckDB or PostgreSQL that comment on a table and some of its columns. */
export function commentsOn(table: string, about: string, columns: Columns): string {
  return [
    `COMMENT ON TABLE ${table} IS ${literal(about)}`,
    ...columns.map((column) => `COMMENT ON COLUMN ${table}.${quoted(column.name)} IS ${literal(column.about)}`),
  ].join('; ');
}

/** Returns a statement about a table of the destination, or a schema, in the destination's own SQL if it has one. */
export function inOwnSql(
  { own }: { readonly own: OwnSql | null },
  path: readonly string[],
  statement: (at: string) => string,
): string {
  if (own === null) return statement([DESTINATION, ...path].map(quoted).join('.'));
  return own.run(statement(path.map(own.quoted).join('.')));
}

/** Deletes rows of a table by the values of a column. Deleting through an extension would read all values of the destination. */
export async function deleteValues(
  session: Session,
  attachment: { readonly own: OwnSql | null },
  path: readonly string[],
  { where, column, values }: { readonly where: string; readonly column: string; readonly values: string },
): Promise<void> {
  if (attachment.own === null) {
    await session.run(
      inOwnSql(attachment, path, (at) => `DELETE FROM ${at} WHERE ${where} AND ${column} IN (${values})`),
    );
    return;
  }
  const listed = (await session.query(`SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (${values}) ORDER BY 1`)).map(
    ([value]) => literal(String(value)),
  );
  for (let from = 0; from < listed.length; from += VALUES_MAX) {
    const some = listed.slice(from, from + VALUES_MAX).join(', ');
    await session.run(
      inOwnSql(attachment, path, (at) => `DELETE FROM ${at} WHERE ${where} AND ${column} IN (${some})`),
    );
  }
}
