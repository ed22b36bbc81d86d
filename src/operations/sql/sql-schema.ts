import type { GuardedSql } from '../../warehouse/sql/guarded-sql.ts';
import type { SqlTable } from '../../web/page-data/sql-data.ts';

const COLUMNS = `
  SELECT c.schema_name, c.table_name, v.view_name IS NOT NULL AS is_view, coalesce(v.comment, t.comment), c.column_name,
    c.data_type, c.comment
  FROM duckdb_columns() c
  LEFT JOIN duckdb_tables() t USING (database_name, schema_name, table_name)
  LEFT JOIN duckdb_views() v ON v.database_name = c.database_name AND v.schema_name = c.schema_name AND v.view_name = c.table_name
  WHERE c.database_name = current_database() AND NOT c.internal
  ORDER BY c.schema_name = 'sync', c.schema_name = 'main', c.table_name, c.column_index`;

/** Returns the name of a table as SQL accepts it: with its schema, unless that is the default one. */
export function tableName({ schema, name }: Pick<SqlTable, 'schema' | 'name'>): string {
  return schema === 'main' ? name : `${schema}.${name}`;
}

/** Reads all tables and views of a replica: marts first, then tables, then schema `sync`. */
export async function readSqlSchema(sql: GuardedSql): Promise<SqlTable[]> {
  const [result] = await sql.query(COLUMNS, 1);
  const tables = new Map<string, SqlTable & { columns: SqlTable['columns'][number][] }>();
  for (const [schema, name, isView, about, column, type, comment] of result?.rows ?? []) {
    const key = `${schema}.${name}`;
    const table = tables.get(key) ?? {
      schema: String(schema),
      name: String(name),
      kind: isView === true ? 'view' : 'table',
      about: about as string | null,
      columns: [],
    };
    tables.set(key, table);
    table.columns.push({ name: String(column), type: String(type), about: comment as string | null });
  }
  return [...tables.values()];
}
