import { z } from 'zod';
import { nearestName } from '../../../base/choose-name.ts';
import { SightlineError } from '../../../base/errors.ts';
import { tableName } from '../../../operations/sql/sql-schema.ts';
import type { SqlCaller, SqlService } from '../../../operations/sql/sql-service.ts';
import type { SqlTable } from '../../../web/page-data/sql-data.ts';
import { defineTool, type ToolContext } from '../tool.ts';

/** Maximum length of a query. */
const SQL_CHARACTERS_MAX = 20_000;
/** Maximum length of a cell of a result. */
const CELL_CHARACTERS_MAX = 2_000;
/** Schemas with the state of syncs. Their tables are listed only if they match `search`. */
const INTERNAL = ['sync'];

/** Runs guarded SQL. */
export const query = defineTool({
  name: 'query',
  title: 'Query with SQL',
  about:
    'Runs a read-only SELECT (DuckDB SQL, 10 s) over the tables of `list_tables`. Use it if `query_metrics` cannot answer.',
  scope: 'sql',
  input: z.object({ sql: z.string().max(SQL_CHARACTERS_MAX), limit: z.int().min(1).max(10_000).default(500) }),
  results: ['columns', 'rows'],
  run: async (context, { sql: text, limit }) => {
    const { sql, caller } = await sqlOf(context);
    const question = { sql: text, rowsMax: limit };
    context.report('The query waits or runs.', 0, 1);
    const { columns, rows, isTruncated, rowsTotal, asOf, completeTo } = await sql.run(caller, question, context.signal);
    context.report('The query has ended.', 1, 1);
    return {
      content: {
        columns: columns.map(({ name, type }) => `${name} ${type}`),
        rows: rows.map((row) => row.map(shortCell)),
      },
      lists: ['rows'],
      total: isTruncated ? rowsTotal : rows.length,
      asOf,
      completeTo,
    };
  },
});

/** Lists the tables that SQL can query. */
export const listTables = defineTool({
  name: 'list_tables',
  title: 'List tables',
  about: 'Tables and views for `query`, with meaning.',
  scope: 'sql',
  input: z.object({ search: z.string().optional().describe('Part of name, column or meaning.') }),
  results: ['tables'],
  run: async (context, { search: text = '' }) => {
    const tables = await tablesOf(context);
    const search = text.toLowerCase();
    const shown = tables.filter(({ schema, name, about, columns }) => {
      if (search === '') return !INTERNAL.includes(schema) && !name.endsWith('_history');
      const own = columns.map((column) => column.name).filter((column) => !column.startsWith('_'));
      return [schema, name, about ?? '', ...own].some((text) => text.toLowerCase().includes(search));
    });
    const hidden = tables.length - shown.length;
    return {
      content: { tables: shown.map(({ about, ...table }) => `${tableName(table)}: ${shortAbout(about)}`) },
      lists: ['tables'],
      ...(search === '' && hidden > 0
        ? {
            remarks: [
              'Views in schema mart are computed from the other tables, which contain the data as received from upstream.',
              `${hidden} more tables contain histories and the state of syncs; find them with search.`,
            ],
          }
        : {}),
      ...(shown.length === 0 ? { remarks: [`No name, meaning or column contains ${JSON.stringify(search)}.`] } : {}),
    };
  },
});

/** Describes a table. */
export const describeTable = defineTool({
  name: 'describe_table',
  title: 'Describe table',
  about: 'Columns of a table with type and meaning.',
  scope: 'sql',
  input: z.object({ table: z.string() }),
  results: ['table', 'kind', 'about', 'columns'],
  run: async (context, { table }) => {
    const { schema, name, kind, about, columns } = findTable(await tablesOf(context), table);
    return {
      content: {
        table: tableName({ schema, name }),
        kind,
        about,
        columns: columns.map((column) => [column.name, column.type, column.about]),
      },
      lists: ['columns'],
    };
  },
});

/** Returns the tables that the caller can query. */
export async function tablesOf(context: ToolContext): Promise<readonly SqlTable[]> {
  const { sql, caller } = await sqlOf(context);
  return (await sql.schema(caller, context.signal)).tables;
}

/**
 * Finds a table by its name, with or without its schema.
 *
 * @throws SightlineError `not_found` with the nearest name
 */
export function findTable(tables: readonly SqlTable[], given: string): SqlTable {
  const text = given
    .trim()
    .replaceAll('"', '')
    .toLowerCase()
    .replace(/^main\./, '');
  const found = tables.find((table) => tableName(table) === text) ?? tables.find(({ name }) => name === text);
  if (found !== undefined) return found;
  const near = nearestName(text, [...tables.map(tableName), ...tables.map(({ name }) => name)]);
  const hint = near === null ? 'List the tables with `list_tables`.' : `Did you mean ${near}?`;
  throw new SightlineError('not_found', `there is no table ${JSON.stringify(given.slice(0, 80))}`, { hint });
}

async function sqlOf({
  workspace: { sql },
  session,
  source,
}: ToolContext): Promise<{ sql: SqlService; caller: SqlCaller }> {
  if (sql === null) throw new SightlineError('not_found', 'this server has no SQL');
  const { allowedBrands } = (await source()).replica;
  return { sql, caller: { session, brands: allowedBrands === null ? null : [...allowedBrands] } };
}

// Returns the first clause, with the period of a row (`by week`). `describe_table` has the complete text.
function shortAbout(about: string | null): string {
  return about === null ? '' : (/^.*?(?=[.:](?: |$)|; | \(|, (?!by ))/.exec(about)?.[0] ?? about);
}

function shortCell(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= CELL_CHARACTERS_MAX) return value;
  return `${value.slice(0, CELL_CHARACTERS_MAX)} [… ${value.length - CELL_CHARACTERS_MAX} characters left out]`;
}
