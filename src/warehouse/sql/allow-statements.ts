import { SightlineError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import { skipBlank, splitStatements, wordsOf } from './sql-text.ts';

/**
 * The reader of the results: `owner` can read the files anyway; `remote` is a network client that must not see paths or
 * settings of the machine.
 */
export type Audience = 'owner' | 'remote';

/** An allowed statement, with the SQL text to run. */
export interface AllowedStatement {
  readonly sql: string;
  /** The type that DuckDB must report when the statement is prepared. */
  readonly type: 'SELECT' | 'EXPLAIN' | 'SET';
}

/** Maximum length of the SQL of one call, in characters. */
const SQL_CHARACTERS_MAX = 1_000_000;
/** Maximum statements of one call. */
const STATEMENTS_MAX = 100;
const WORDS_READ_MAX = 1_000;

const ALLOWED = 'SELECT, FROM, WITH, VALUES, TABLE, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN of one of these, SET VARIABLE';
/** DuckDB's error for valid SQL that is not a SELECT. */
const NOT_SELECT = 'Only SELECT statements can be serialized to json!';

/** Table functions that read only their arguments, tables and the catalog. All others are rejected. */
const TABLE_FUNCTIONS = new Set(
  `duckdb_columns duckdb_constraints duckdb_dependencies duckdb_functions duckdb_indexes duckdb_keywords duckdb_optimizers
  duckdb_schemas duckdb_sequences duckdb_tables duckdb_types duckdb_views generate_series icu_calendar_names json_each json_tree
  pg_timezone_names pragma_collations pragma_metadata_info pragma_show pragma_storage_info pragma_table_info pragma_version
  range repeat repeat_row summary test_all_types unnest`.split(/\s+/),
);
/** Table functions that show paths, settings or memory of the machine; allowed for the owner only. */
const OWNER_TABLE_FUNCTIONS = new Set(
  'duckdb_databases duckdb_memory duckdb_settings duckdb_variables pragma_database_size pragma_platform'.split(' '),
);
/** Scalar functions that change state, read the machine, or bind unchecked SQL. */
const REJECTED_FUNCTIONS = new Set('currval getenv json_serialize_plan nextval write_log'.split(' '));
const OWNER_FUNCTIONS = new Set(['current_setting']);
/** Views of DuckDB that show logs or the text of other statements. */
const REJECTED_VIEWS = new Set(['duckdb_logs', 'pg_prepared_statements']);
const OWNER_VIEWS = new Set(['duckdb_databases', 'pg_settings', 'pragma_database_list']);
/** Allowed query nodes. A later version of DuckDB may add others, such as one that inserts. */
const QUERY_NODES = new Set(['SELECT_NODE', 'SET_OPERATION_NODE', 'RECURSIVE_CTE_NODE', 'CTE_NODE']);
/** A table name that matches is a file, a glob pattern or a URL, which DuckDB would read as a table. */
const FILE_LIKE = /[/\\:*?[\].]/;
/** DuckDB reads a qualified name with one of these at its end as a file, such as rows.csv. */
const FILE_ENDING = /^(csv|tsv|parquet|jsonl?|ndjson|gz|zst|db|duckdb|xlsx|arrow|feather|avro|vortex)$/i;
/** Table macros that take the name of a table as their first argument. */
const TABLE_MACROS = new Set(['histogram', 'histogram_values']);
/** Words that begin a statement that reads. */
const READING = /^(SELECT|FROM|WITH|VALUES|TABLE|DESCRIBE|DESC|SHOW|SUMMARIZE|PIVOT|PIVOT_WIDER)$/;

/**
 * Parses SQL with DuckDB and returns its `json_serialize_sql` value, without binding or running it.
 * @throws DuckDB's error if the text is not valid SQL
 */
export type Parse = (sql: string) => Promise<unknown>;

/**
 * Decides which statements of a text may run, before the first one runs.
 * @throws `sql_rejected` with the name of the statement, function or file that is not allowed; errors of `parse`
 */
export async function allowStatements(sql: string, audience: Audience, parse: Parse): Promise<AllowedStatement[]> {
  if (sql.length > SQL_CHARACTERS_MAX) {
    throw rejected(`the text has ${sql.length} characters; allowed: ${SQL_CHARACTERS_MAX}`);
  }
  const pieces = splitStatements(sql);
  if (pieces.length > STATEMENTS_MAX) {
    throw rejected(`the text has ${pieces.length} statements; allowed: ${STATEMENTS_MAX}`);
  }
  const allowed: AllowedStatement[] = [];
  for (const { text } of pieces) allowed.push(await allow(text, audience, parse));
  return allowed;
}

async function allow(text: string, audience: Audience, parse: Parse): Promise<AllowedStatement> {
  const [first, second] = wordsOf(text, 2);
  if (first === 'EXPLAIN') {
    const { options, inner } = explained(text);
    if (skipBlank(inner, 0) === inner.length) throw rejected(`EXPLAIN names no statement; allowed: ${ALLOWED}`);
    await checkSelect(inner, audience, parse);
    return { sql: `EXPLAIN ${options}${inner}`, type: 'EXPLAIN' };
  }
  if (first === 'SET' && second === 'VARIABLE') {
    const { name, value } = assigned(text);
    await checkSelect(`SELECT (${value}\n)`, audience, parse);
    return { sql: `SET VARIABLE ${name} = (${value}\n)`, type: 'SET' };
  }
  await checkSelect(text, audience, parse);
  return { sql: text, type: 'SELECT' };
}

// Parse the inner statement separately, because DuckDB's parse tree does not contain it.
function explained(text: string): { options: string; inner: string } {
  const start = skipBlank(text, 0);
  let at = skipBlank(text, start + 'EXPLAIN'.length);
  let options = '';
  const analyze = /^ANALYZE\b/i.exec(text.slice(at, at + 8));
  if (analyze !== null) {
    options = 'ANALYZE ';
    at = skipBlank(text, at + analyze[0].length);
  } else {
    const list = /^\(\s*(?:ANALYZE|FORMAT)\b[\w\s,]*\)/i.exec(text.slice(at, at + 100));
    if (list !== null) {
      options = `${list[0]} `;
      at = skipBlank(text, at + list[0].length);
    }
  }
  return { options, inner: `${linesOf(text.slice(0, at))}${text.slice(at)}` };
}

function assigned(text: string): { name: string; value: string } {
  const start = skipBlank(text, 0);
  const variable = skipBlank(text, start + 'SET'.length);
  const at = skipBlank(text, variable + 'VARIABLE'.length);
  const [whole, name = ''] = /^("(?:[^"]|"")+"|[A-Za-z_]\w*)\s*(?:=|TO\b)/i.exec(text.slice(at)) ?? [];
  if (whole === undefined) throw rejected('SET VARIABLE is incomplete; allowed: SET VARIABLE name = value');
  return { name, value: `${linesOf(text.slice(0, at))}${text.slice(at + whole.length)}` };
}

function linesOf(text: string): string {
  return text.replaceAll(/[^\n]/g, '');
}

async function checkSelect(text: string, audience: Audience, parse: Parse): Promise<void> {
  const parsed = await parse(text);
  if (!isRecord(parsed)) throw rejected(`${nameOf(text)} could not be checked`);
  if (parsed['error'] !== false) {
    const said = String(parsed['error_message']);
    if (said !== NOT_SELECT) throw rejected(`${nameOf(text)} could not be checked: ${said}`);
    if (isPivot(text)) {
      throw rejected("PIVOT without a list of values is not allowed; write PIVOT … ON column IN ('a', 'b')");
    }
    throw rejected(`${nameOf(text)} is not allowed; allowed: ${ALLOWED}`);
  }
  const statements = parsed['statements'];
  if (!Array.isArray(statements) || statements.length !== 1) {
    throw rejected(`${nameOf(text)} could not be checked as one statement; allowed: ${ALLOWED}`);
  }
  checkTree(statements[0], audience);
}

// Names the statement, such as COPY, also after a common table expression.
function nameOf(text: string): string {
  const words = wordsOf(text, WORDS_READ_MAX);
  const [first = 'this statement'] = words;
  if (first !== 'WITH') return first.slice(0, 40);
  return words.find((word) => /^(INSERT|UPDATE|DELETE|MERGE|COPY|CREATE)$/.test(word)) ?? first;
}

// Without a list of values, DuckDB creates a type from the values that it finds, so it does not parse the query as a SELECT.
function isPivot(text: string): boolean {
  const words = wordsOf(text, WORDS_READ_MAX, { nested: true });
  return READING.test(words[0] ?? '') && words.some((word) => /^PIVOT(_WIDER)?$/.test(word));
}

function checkTree(tree: unknown, audience: Audience): void {
  const pending: unknown[] = [tree];
  while (pending.length > 0) {
    const node = pending.pop();
    if (Array.isArray(node)) for (const inner of node) pending.push(inner);
    if (!isRecord(node)) continue;
    checkNode(node, audience);
    for (const inner of Object.values(node)) if (typeof inner === 'object') pending.push(inner);
  }
}

function checkNode(node: Readonly<Record<string, unknown>>, audience: Audience): void {
  const type = String(node['type']);
  const isOwner = audience === 'owner';
  if (type.endsWith('_NODE') && !QUERY_NODES.has(type)) throw rejected(`a query of kind ${type} is not allowed`);
  if (type === 'BASE_TABLE') {
    checkTable([node['catalog_name'], node['schema_name'], node['table_name']].map(String), isOwner);
  }
  if (type === 'TABLE_FUNCTION' && isRecord(node['function'])) checkTableFunction(node['function'], isOwner);
  const name = typeof node['function_name'] === 'string' ? node['function_name'].toLowerCase() : '';
  if (REJECTED_FUNCTIONS.has(name) || (!isOwner && OWNER_FUNCTIONS.has(name))) {
    throw rejected(`the function ${name}() is not allowed`);
  }
}

// `parts` are catalog, schema and name; those that were not given are empty.
function checkTable(parts: readonly string[], isOwner: boolean): void {
  const given = parts.filter((part) => part !== '');
  const name = given.at(-1) ?? '';
  if (given.some((part) => FILE_LIKE.test(part)) || (given.length > 1 && FILE_ENDING.test(name))) {
    const file = JSON.stringify(given.join('.'));
    throw rejected(`reading the file ${file} is not allowed; allowed: tables and views of the warehouse`);
  }
  const view = name.toLowerCase();
  if (REJECTED_VIEWS.has(view) || (!isOwner && OWNER_VIEWS.has(view))) throw rejected(`${name} is not allowed`);
}

function checkTableFunction(called: Readonly<Record<string, unknown>>, isOwner: boolean): void {
  const name = String(called['function_name']).toLowerCase();
  if (TABLE_MACROS.has(name)) {
    checkTableMacro(name, called['children'], isOwner);
    return;
  }
  if (TABLE_FUNCTIONS.has(name) || (isOwner && OWNER_TABLE_FUNCTIONS.has(name))) return;
  const allowed = [...TABLE_FUNCTIONS, ...TABLE_MACROS].sort().join(', ');
  throw rejected(`the table function ${name}() is not allowed; allowed: ${allowed}`);
}

// The table is named as a column would be; a text or a computed name could not be checked here.
function checkTableMacro(name: string, given: unknown, isOwner: boolean): void {
  const [table, ...others] = (Array.isArray(given) ? given : []).filter(isRecord);
  const parts = table?.['type'] === 'COLUMN_REF' && table['alias'] === '' ? table['column_names'] : null;
  if (!Array.isArray(parts) || others.some(({ alias }) => String(alias).toLowerCase() === 'source')) {
    throw rejected(`the first argument of ${name}() is not the name of a table; allowed: ${name}(table, column)`);
  }
  checkTable(parts.map(String), isOwner);
}

function rejected(message: string): SightlineError {
  return new SightlineError('sql_rejected', message);
}
