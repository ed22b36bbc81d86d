import { MART_SCHEMA, marts } from '../metrics/marts/marts.ts';
import { ensureViews } from '../warehouse/views.ts';
import { openWarehouse } from '../warehouse/warehouse.ts';
import { catalogue } from './workspace.ts';

/** What a table is for: data as upstream has them, what they were before, answers made of them, or the engine's books. */
export type TableKind = 'data' | 'history' | 'mart' | 'bookkeeping';

/** A table or view with what is said of it. */
export interface DescribedTable {
  /** With its schema, unless that is the main one: `mart.visibility_weekly`. */
  readonly name: string;
  readonly kind: TableKind;
  readonly about: string;
  /** Columns that tell rows apart; empty where nothing is promised. */
  readonly key: readonly string[];
  readonly columns: readonly DescribedColumn[];
}

/** A column; `type` is DuckDB's. */
export interface DescribedColumn {
  readonly name: string;
  readonly type: string;
  readonly about: string;
}

/**
 * Describes every table and view of a warehouse: those of an empty one that is made for it, in memory, so that what is
 * said is what an analyst finds in the comments.
 */
export async function describeTables(): Promise<DescribedTable[]> {
  const warehouse = await openWarehouse(':memory:', catalogue, {});
  try {
    await ensureViews(warehouse.database, MART_SCHEMA, marts());
    return await warehouse.database.exclusive(async ({ query }) => {
      const columns = await query(
        `SELECT schema_name, table_name, column_name, data_type, comment FROM duckdb_columns()
         WHERE database_name = current_database() AND NOT internal ORDER BY schema_name, table_name, column_index`,
      );
      const tables = await query(
        `SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal
         UNION ALL SELECT schema_name, view_name, comment FROM duckdb_views()
           WHERE database_name = current_database() AND NOT internal`,
      );
      return tables
        .map(([schema, table, about]) => ({
          ...placeOf(String(schema), String(table)),
          about: String(about ?? ''),
          columns: columns
            .filter((column) => column[0] === schema && column[1] === table)
            .map(([, , name, type, said]) => ({
              name: String(name),
              type: String(type),
              about: String(said ?? ''),
            })),
        }))
        .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.name < b.name ? -1 : 1));
    });
  } finally {
    await warehouse.close();
  }
}

/** Kinds of tables in the order in which they are told of, with a title and a sentence for each. */
export const tableKinds: Readonly<Record<TableKind, { readonly title: string; readonly about: string }>> = {
  data: { title: 'Tables', about: 'What upstream has now, a row per item. Rows that are gone have `_deleted_at`.' },
  mart: {
    title: 'Marts',
    about: 'Views to start from: a star for BI tools, and answers with their counts beside them.',
  },
  history: {
    title: 'Histories',
    about:
      'What rows were before: each as it stood from `valid_from` until `valid_to`, which is null for what holds now.',
  },
  bookkeeping: { title: 'Books of the engine', about: 'What was asked for when, what it cost, and what was found.' },
};

const KINDS = Object.keys(tableKinds) as TableKind[];

/** The data dictionary as Markdown: every table and view with every column. */
export function toMarkdown(tables: readonly DescribedTable[]): string {
  const sections = KINDS.map((kind) => {
    const { title, about } = tableKinds[kind];
    return `## ${title}\n\n${about}\n\n${tables
      .filter((table) => table.kind === kind)
      .map(tableMarkdown)
      .join('\n')}`;
  });
  const head = `# Data dictionary

Made by \`npm run docs\` from the declarations, the marts and the warehouse's own comments; a test fails when it is stale.
Times are UTC. \`sightline describe TABLE\` prints the same for one table.
`;
  return [head, ...sections].join('\n');
}

function tableMarkdown({ name, about, key, columns }: DescribedTable): string {
  const rows = columns.map((column) => `| \`${column.name}\` | ${column.type} | ${escaped(column.about)} |`);
  const keyed = key.length === 0 ? '' : `Key: ${key.map((column) => `\`${column}\``).join(', ')}.\n\n`;
  return `### ${name}\n\n${about}\n\n${keyed}| column | type | |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}

function placeOf(schema: string, table: string): Pick<DescribedTable, 'name' | 'kind' | 'key'> {
  if (schema === MART_SCHEMA) return { name: `${schema}.${table}`, kind: 'mart', key: [] };
  if (schema !== 'main') return { name: `${schema}.${table}`, kind: 'bookkeeping', key: [] };
  const history = catalogue.histories.find(({ name }) => name === table);
  if (history !== undefined) return { name: table, kind: 'history', key: history.key };
  return { name: table, kind: 'data', key: catalogue.tables.find(({ name }) => name === table)?.key ?? [] };
}
