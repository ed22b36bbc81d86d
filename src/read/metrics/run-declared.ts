import { z } from 'zod';
import { suggestion } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import { checkNames, invalidParameter, onceOf } from '../../contract/operation/read-input.ts';
import { isUuid } from '../../contract/query-parameters.ts';
import { toDay } from '../../contract/time.ts';
import { modelColumn } from '../../metrics/model/dimensions.ts';
import {
  type DeclaredQuery,
  declaredQueries,
  declaredSql,
  type QueryItem,
  type QueryParameter,
} from '../../metrics/queries/declared-queries.ts';
import type { Query } from '../../warehouse/database.ts';
import { readItem } from '../stored-items.ts';
import { ROWS_MAX } from './run-metrics.ts';
import { freshnessOf } from './scope-freshness.ts';
import { oneBrand, readScope, readScopeInput, SCOPE_PARAMETERS } from './scope-request.ts';
import { type MetricsSource, plainRows, type TableResult } from './table-result.ts';

/** A declared query as programs read it. */
export const describedQuery = z.object({
  name: z.string(),
  about: z.string(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        about: z.string(),
        type: z.string().describe('SQL type'),
        standard: z.string().nullish().describe('value if it is not given; absent if it is required'),
        oneOf: z.array(z.string()).nullable().describe('allowed values; null for any of the type'),
      }),
    )
    .describe('its own parameters'),
  columns: z.array(modelColumn),
});

/** Returns the declared queries, as programs read them. */
export function describeQueries(): ValueOf<typeof describedQuery>[] {
  return declaredQueries().map(({ name, about, parameters, columns }) => ({ name, about, parameters, columns }));
}

/**
 * Runs a declared query with the filters of a scope and its own parameters.
 *
 * @throws SightlineError `not_found` for an unknown query; `invalid_parameter` with the parameter, its value, what is allowed and the
 * nearest name
 * @example
 * await runDeclaredQuery(source, 'filters', new URLSearchParams('brand=Acme'));
 */
export async function runDeclaredQuery(
  source: MetricsSource,
  name: string,
  given: URLSearchParams,
): Promise<TableResult> {
  const declared = findQuery(name);
  checkNames(given, [...SCOPE_PARAMETERS, ...declared.parameters.map((parameter) => parameter.name)]);
  const values = Object.fromEntries(
    declared.parameters.map((parameter) => [parameter.name, readValue(parameter, given)]),
  );
  const input = readScopeInput(given);
  return source.replica.replica.work(async (query, read) => {
    const scope = await readScope(source, query, input);
    if (declared.isOfBrand) await oneBrand(query, scope, input);
    const sql = declaredSql(declared, scope, values);
    const { rows } = await read(`SELECT * FROM (\n${sql}\n) LIMIT ${ROWS_MAX + 1}`);
    const plain = plainRows(declared.columns, rows.slice(0, ROWS_MAX));
    const { item } = declared;
    return {
      name,
      about: declared.about,
      columns: declared.columns,
      rows: item === null ? plain : await withItems(source, query, { ...declared, item }, plain),
      sql,
      ...freshnessOf(source, declared.isCompared ? scope : { ...scope, before: null, gaps: [] }, declared.families),
      truncated: rows.length > ROWS_MAX,
    };
  }, source.signal);
}

// Reads each item as upstream sent it.
async function withItems(
  { catalogue }: MetricsSource,
  query: Query,
  { item, columns }: { readonly item: QueryItem; readonly columns: DeclaredQuery['columns'] },
  rows: readonly (readonly unknown[])[],
): Promise<unknown[][]> {
  const resource = catalogue.get(item.resource);
  const textIn = (row: readonly unknown[], column: string): string =>
    String(row[columns.findIndex(({ name }) => name === column)]);
  const found: unknown[][] = [];
  for (const row of rows) {
    const brandId = resource.scope === 'brand' ? textIn(row, 'brand_id') : null;
    const stored = await readItem({ query, resource, brandId }, textIn(row, item.id));
    found.push([...row, stored]);
  }
  return found;
}

function findQuery(name: string): DeclaredQuery {
  const all = declaredQueries();
  const found = all.find((query) => query.name === name);
  if (found !== undefined) return found;
  const names = all.map((query) => query.name);
  const message = `unknown query ${JSON.stringify(name)}; allowed: ${names.join(', ')}${suggestion(name, names)}`;
  throw new SightlineError('not_found', message);
}

const FORMS: Readonly<Record<QueryParameter['type'], readonly [string, (text: string) => boolean]>> = {
  VARCHAR: ['a text', () => true],
  UUID: ['a UUID', isUuid],
  DATE: ['a calendar day, YYYY-MM-DD', (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && toDay(text) !== null],
  BIGINT: ['a whole number', (text) => /^-?\d{1,15}$/.test(text)],
  DOUBLE: ['a number', (text) => text.trim() !== '' && Number.isFinite(Number(text))],
  BOOLEAN: ['true or false', (text) => text === 'true' || text === 'false'],
};

function readValue({ name, type, standard, oneOf }: QueryParameter, given: URLSearchParams): string | null {
  const text = onceOf(given, name);
  const [form, isValid] = FORMS[type];
  if (text === null) {
    if (standard === undefined) throw invalidParameter(name, '', form);
    return standard;
  }
  if (oneOf !== null && !oneOf.includes(text)) throw invalidParameter(name, text, oneOf.join(', '), oneOf);
  if (!isValid(text)) throw invalidParameter(name, text, form);
  return text;
}
