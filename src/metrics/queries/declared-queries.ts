import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { literal } from '../../warehouse/schema.ts';
import { parseSqlFile, SQL_ENDING, type SqlFileColumn } from '../marts/sql-file.ts';
import { DEFAULT_FAMILY, type FactFamily } from '../model/measures.ts';
import { domainsOf, ownersCte } from '../model/owners-sql.ts';
import { childConditions, gapCondition, type Scope, scopeCte, uuidLiteral } from '../model/scope-sql.ts';

/** A parameter of a declared query in addition to the parameters of the scope. */
export interface QueryParameter {
  readonly name: string;
  readonly type: (typeof TYPES)[number];
  readonly about: string;
  /** Value if the parameter is not given; undefined if it is required. */
  readonly standard: string | null | undefined;
  /** Allowed values; null for any of the type. */
  readonly oneOf: readonly string[] | null;
}

/** The stored item of each row: the last column, `item`, which is not part of the SQL. */
export interface QueryItem {
  readonly resource: string;
  /** Column with the id of the item; the row also has a column `brand_id`. */
  readonly id: string;
  readonly about: string;
}

/** A query that pages and programs run by name. */
export interface DeclaredQuery {
  readonly name: string;
  readonly about: string;
  readonly parameters: readonly QueryParameter[];
  readonly columns: readonly SqlFileColumn[];
  readonly item: QueryItem | null;
  /** Whether the query requires exactly one brand, because it reads `$brand`. */
  readonly isOfBrand: boolean;
  /** Whether it reads the comparison period. */
  readonly isCompared: boolean;
  /** The facts that it reads. */
  readonly families: readonly FactFamily[];
  readonly sql: string;
}

/** Values of the parameters of a query, by name. */
export type QueryValues = Readonly<Record<string, string | null>>;

const TYPES = ['VARCHAR', 'UUID', 'DATE', 'BIGINT', 'DOUBLE', 'BOOLEAN'] as const;
const FOLDER = import.meta.dirname;

/**
 * Returns all declared queries, read from the SQL files in this folder. Beside description and columns, their headers have entries
 * such as `parameter limit BIGINT 20: About.`, `parameter search VARCHAR null: About.`, `parameter sort VARCHAR new new|old: About.` and, for a required one,
 * `parameter id UUID: About.`, and `item responses response_id: About.` adds the stored item of that resource to each row. The SQL refers to parameters as `$limit`, to the filters of the scope as `$brand`, `$brands`, `$from`,
 * `$to`, `$before_from`, `$before_to`, `$engines`, `$topics`, `$tags`, `$branded`, `$prompts` and `$competitors`, to
 * the selected responses as `scope` and `scope_before`, and as `cited_owners` to mart.dim_domain for the
 * domains that these cite, which is faster.
 */
export function declaredQueries(): readonly DeclaredQuery[] {
  return ALL;
}

function readAll(): readonly DeclaredQuery[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(SQL_ENDING))
    .sort()
    .map((file) => parseQuery(file.slice(0, -SQL_ENDING.length), readFileSync(join(FOLDER, file), 'utf8')));
}

/**
 * Parses the text of a declared query.
 *
 * @throws TypeError with the name of the file if the header is invalid
 */
export function parseQuery(name: string, text: string): DeclaredQuery {
  const { about, columns, entries, sql } = parseSqlFile(name, text, ['parameter', 'item']);
  const [item = null] = entries
    .filter(({ kind }) => kind === 'item')
    .map(({ words: [resource = '', id = ''], text: said }): QueryItem => ({ resource, id, about: said }));
  if (item !== null && [item.id, 'brand_id'].some((needed) => columns.every(({ name: column }) => column !== needed))) {
    throw new TypeError(`${name}${SQL_ENDING}: the item needs the columns ${item.id} and brand_id`);
  }
  const declared = entries.filter(({ kind }) => kind === 'parameter');
  const parameters = declared.map(({ words, text: said }): QueryParameter => {
    const [parameter = '', type, standard, choices] = words;
    const known = TYPES.find((candidate) => candidate === type);
    if (!/^[a-z][a-z0-9_]*$/.test(parameter) || known === undefined || RESERVED.includes(parameter)) {
      throw new TypeError(`${name}${SQL_ENDING}: invalid parameter: ${words.join(' ')}`);
    }
    const oneOf = choices === undefined ? null : choices.split('|');
    return { name: parameter, type: known, about: said, standard: standard === 'null' ? null : standard, oneOf };
  });
  const used = namesIn(sql);
  const unknown = used.find(
    (used) => !RESERVED.includes(used) && !parameters.some((declared) => declared.name === used),
  );
  if (unknown !== undefined) throw new TypeError(`${name}${SQL_ENDING}: $${unknown} is not declared`);
  const served = item === null ? [] : [{ name: 'item', type: 'JSON', about: item.about }];
  return {
    name,
    about,
    parameters,
    columns: [...columns, ...served],
    item,
    isOfBrand: used.includes('brand'),
    isCompared: /\bscope_before\b|\$before_from\b/.test(sql),
    families: familiesOf(sql),
    sql,
  };
}

function familiesOf(sql: string): readonly FactFamily[] {
  const readsVisits = /\b(main|mart)\.\w*traffic\w*/.test(sql);
  const readsResponses = !readsVisits || /\bscope\b/.test(sql);
  return [...(readsResponses ? [DEFAULT_FAMILY] : []), ...(readsVisits ? (['traffic'] as const) : [])];
}

const RESERVED: readonly string[] = [
  'brand',
  'brands',
  'from',
  'to',
  'before_from',
  'before_to',
  'engines',
  'topics',
  'tags',
  'branded',
  'prompts',
  'competitors',
];

/** Returns the statement of a query with the values of the scope and of the declared parameters as literals. */
export function declaredSql(query: DeclaredQuery, given: Scope, values: QueryValues): string {
  // Queries with a comparison are of one brand.
  const hasGap = query.families.some((family) => gapCondition(given, family, null) !== null);
  const scope = hasGap ? { ...given, before: null } : given;
  const literals: Record<string, string> = {
    brand: uuidLiteral(String(scope.brands[0])),
    brands: `[${scope.brands.map(uuidLiteral).join(', ')}]`,
    from: dayLiteral(scope.from),
    to: dayLiteral(scope.to),
    before_from: dayLiteral(scope.before?.from ?? null),
    before_to: dayLiteral(scope.before?.to ?? null),
    engines: texts(scope.engines),
    topics: texts(scope.topics),
    tags: texts(scope.tags),
    prompts: texts(scope.prompts),
    competitors: texts(scope.competitors),
    branded: scope.branded === null ? 'CAST(NULL AS VARCHAR)' : literal(scope.branded),
  };
  for (const { name, type } of query.parameters) {
    const value = values[name] ?? null;
    literals[name] = `CAST(${value === null ? 'NULL' : literal(value)} AS ${type})`;
  }
  const body = replaceNames(query.sql, (name) => literals[name] as string);
  const ctes = [
    ...(/\bscope\b/.test(query.sql) ? [scopeCte('scope', scope, scope)] : []),
    ...(/\bscope_before\b/.test(query.sql) ? [scopeCte('scope_before', scope, scope.before)] : []),
    ...(/\bcited_owners\b/.test(query.sql) ? [ownersCte('cited_owners', citedBy(scope))] : []),
  ];
  if (ctes.length === 0) return body;
  const rest = /^WITH\s+/i.exec(body);
  return rest === null ? `WITH ${ctes.join(', ')}\n${body}` : `WITH ${ctes.join(', ')}, ${body.slice(rest[0].length)}`;
}

function citedBy(scope: Scope): string {
  const where = [...childConditions(scope), '_deleted_at IS NULL'].join(' AND ');
  return domainsOf(scope, `FROM main.response_citations WHERE ${where}`);
}

// An empty list selects all, so that a query can say `len($engines) = 0 OR engine IN $engines`.
function texts(values: readonly string[]): string {
  return `CAST([${values.map(literal).join(', ')}] AS VARCHAR[])`;
}

function dayLiteral(day: string | null): string {
  return day === null ? 'CAST(NULL AS DATE)' : `DATE ${literal(day)}`;
}

/** Strings, quoted names and comments, which contain no parameters; or a parameter. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\$([a-z][a-z0-9_]*)/g;

function namesIn(sql: string): string[] {
  return [...sql.matchAll(TOKEN)].flatMap((match) => match[1] ?? []);
}

function replaceNames(sql: string, replace: (name: string) => string): string {
  return sql.replace(TOKEN, (token: string, name: string | undefined) => (name === undefined ? token : replace(name)));
}

// Read when the module is loaded, because requests need them; after the constants that the parser uses.
const ALL = readAll();
