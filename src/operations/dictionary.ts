import { z } from 'zod';
import type { Catalogue } from '../contract/catalogue.ts';
import type { ValueOf } from '../contract/operation/json-parts.ts';
import { MART_SCHEMA, marts } from '../metrics/marts/marts.ts';
import { chooseTable } from '../publish/snapshot/selection.ts';
import { ensureViews } from '../warehouse/views.ts';
import { openWarehouse } from '../warehouse/warehouse.ts';

/** Title and description of each kind of table. */
export type TableKinds = Readonly<Record<DescribedTable['kind'], { readonly title: string; readonly about: string }>>;

/** A table or view with its documentation. */
export const describedTable = z.object({
  name: z.string().describe('with its schema unless that is `main`'),
  kind: z.enum(['data', 'history', 'mart', 'bookkeeping']),
  about: z.string(),
  key: z.array(z.string()).describe('columns that identify a row; empty if no key is declared'),
  columns: z.array(z.object({ name: z.string(), type: z.string(), about: z.string() })),
  generic: z.literal(true).optional().describe('set if the table has the data of an inferred declaration'),
});

/** A table or view with its documentation. */
export type DescribedTable = ValueOf<typeof describedTable>;

/**
 * Describes every table and view of a warehouse. Reads the comments of an empty in-memory warehouse, so the result equals the
 * comments that an analyst sees in the file.
 */
export async function describeTables(catalogue: Catalogue): Promise<DescribedTable[]> {
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
          ...locationOf(catalogue, String(schema), String(table)),
          about: String(about ?? ''),
          columns: columns
            .filter((column) => column[0] === schema && column[1] === table)
            .map(([, , name, type, comment]) => ({
              name: String(name),
              // DuckDB's name of INSTANT, the type of times in the replica.
              type: type === 'TIMESTAMP' ? 'TIMESTAMP WITH TIME ZONE' : String(type),
              about: String(comment ?? ''),
            })),
        }))
        .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.name < b.name ? -1 : 1));
    });
  } finally {
    await warehouse.close();
  }
}

/** The table or view with a name or the beginning of one. Throws `usage`, which names similar ones. */
export function findTable(tables: readonly DescribedTable[], name: string): DescribedTable {
  const wanted = name.toLowerCase().replace(/^main\./, '');
  const chosen = chooseTable(
    wanted,
    tables.map((table) => table.name),
  );
  return tables.find((table) => table.name === chosen) as DescribedTable;
}

/** The kinds of tables, in the order of the data dictionary. */
export const tableKinds: TableKinds = {
  data: { title: 'Tables', about: 'Current data, one row per item. Rows that upstream deleted have `_deleted_at`.' },
  mart: {
    title: 'Marts',
    about: 'Views to start from: a star schema for BI tools, and ready-made figures with the counts behind them.',
  },
  history: {
    title: 'Histories',
    about:
      'Earlier versions of rows, each valid from `valid_from` to `valid_to`. `valid_to` is null for the current version.',
  },
  bookkeeping: { title: 'Sync bookkeeping', about: 'Runs, requests, coverage, checkpoints and findings of syncs.' },
};

const KINDS = Object.keys(tableKinds) as DescribedTable['kind'][];

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

Times are instants and days are UTC days. \`sightline describe TABLE\` prints the same for one table.
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

function locationOf(
  catalogue: Catalogue,
  schema: string,
  table: string,
): Pick<DescribedTable, 'name' | 'kind' | 'key' | 'generic'> {
  if (schema === MART_SCHEMA) return { name: `${schema}.${table}`, kind: 'mart', key: [] };
  if (schema !== 'main') return { name: `${schema}.${table}`, kind: 'bookkeeping', key: [] };
  const history = catalogue.histories.find(({ name }) => name === table);
  const inferred = catalogue.resources.filter(({ generic }) => generic === true).flatMap(({ derived }) => derived);
  const own = inferred.flatMap(({ name, children }) => [
    name,
    `${name}_history`,
    ...children.map((child) => child.name),
  ]);
  const mark = own.includes(table) ? { generic: true as const } : {};
  if (history !== undefined) return { name: table, kind: 'history', key: history.key, ...mark };
  const key = catalogue.tables.find(({ name }) => name === table)?.key ?? [];
  return { name: table, kind: 'data', key, ...mark };
}
