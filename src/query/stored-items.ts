import { parseExactJson } from '../base/json.ts';
import type { Fields } from '../contract/fields.ts';
import { cursorParameterOf } from '../contract/query-parameters.ts';
import { placeOf, SENT } from '../contract/sent-values.ts';
import type { ChildTable, Column, ResourceTable } from '../contract/tables.ts';
import { DAY_MAX, DAY_MS } from '../contract/time.ts';
import {
  type Bindings,
  columnAt,
  createBindings,
  liveConditions,
  ownKeyOf,
  parentKeyOf,
} from '../warehouse/conditions.ts';
import { createItemReader } from '../warehouse/items.ts';
import { quoted, utc } from '../warehouse/schema.ts';
import type { Place } from './cached-items.ts';
import { afterConditions, keyTypeOf, pageOrder } from './keyset.ts';
import { conditionsOf, isFiltered, orderOf, parentConditions, rangeConditions } from './selected-rows.ts';
import type { StoredRequest } from './stored-request.ts';
import { expectedStart, readSpread } from './time-spread.ts';

/** Conditions of a request for all items of a list. */
export const WITHOUT_FILTERS = {
  member: null,
  asked: { from: '0001-01-01', to: DAY_MAX, values: {}, given: [] },
  after: null,
  order: [],
  allowedBrands: null,
  rowCache: null,
  keepsDeleted: true,
} as const;

/** The items of one table; `last` is the end of the page if more items follow, otherwise null. */
export interface StoredItems {
  readonly table: ResourceTable;
  readonly items: readonly unknown[];
  readonly last: Place | null;
  /** Places of the items of a page. */
  readonly places?: readonly Place[];
}

/** Reads the items of every table of a resource: one page if the resource is paged, otherwise all. */
export async function readStored(request: StoredRequest): Promise<StoredItems[]> {
  const { resource } = request;
  const results: StoredItems[] = [];
  for (const table of resource.derived) {
    if (resource.paging === 'cursor') results.push(await readPage(request, table));
    else results.push(await readPart(request, table));
  }
  return results;
}

// Reads the items that the limit and the cursor of an undeclared list select; without them, all.
async function readPart(request: StoredRequest, table: ResourceTable): Promise<StoredItems> {
  const { resource, query, asked, after } = request;
  const bindings = createBindings();
  const served = servedTable(request, table);
  const { join, orderBy } = orderOf(request, table, bindings);
  const where = [...conditionsOf(request, table, bindings), ...(await rangeConditions(request, table, bindings))];
  const size = Object.entries(resource.query).find(([, { kind }]) => kind === 'limit')?.[0];
  const given = size === undefined ? undefined : asked.values[size];
  const take = resource.change.kind === 'value' ? 1 : typeof given === 'number' ? given : Number.POSITIVE_INFINITY;
  const skip = after === null ? 0 : Number(after.id);
  const limit = `${take === Number.POSITIVE_INFINITY ? '' : ` LIMIT ${take + 1}`}${skip === 0 ? '' : ` OFFSET ${skip}`}`;
  const rows = await query(
    `SELECT ${selectOf(request, served).join(', ')} FROM ${quoted(table.name)} t ${join}
     WHERE ${where.join(' AND ')} ORDER BY ${orderBy}${limit}`,
    bindings.values,
  );
  const items = await toItems(request, served, rows.slice(0, take), null);
  const hasNext = rows.length > take && cursorParameterOf(resource.query) !== null;
  return { table, items, last: hasNext ? { at: null, id: String(skip + take) } : null };
}

export async function readPage(request: StoredRequest, table: ResourceTable): Promise<StoredItems> {
  const served = servedTable(request, table);
  const { rows, places, hasMore } = await readRows(request, served, selectOf(request, served));
  const times = places.flatMap(({ at }) => at ?? []).toSorted();
  const [from, to] = [times[0], times.at(-1)];
  const isTimed = from !== undefined && to !== undefined && times.length === places.length;
  const span = isTimed ? { from, to, hasAllRows: !isFiltered(request, table) } : null;
  const items = await toItems(request, served, rows, span);
  return { table, items, places, last: hasMore ? (places.at(-1) ?? null) : null };
}

interface PageRows {
  readonly rows: readonly (readonly unknown[])[];
  readonly places: readonly Place[];
  readonly hasMore: boolean;
}

// Reads expressions of the rows of a page. DuckDB sorts the keys and reads the other columns of the page only (late
// materialization), because the limit is a constant and the replica raises the limit of rows for which it does so.
export async function readRows(
  request: StoredRequest,
  served: ServedTable,
  select: readonly string[],
): Promise<PageRows> {
  const { asked, query } = request;
  const { table } = served;
  const { time, ties } = pageOrder(request, table);
  const [id, at] = [`t.${quoted(ownKeyOf(table))}`, `t.${quoted(time.name)}`];
  const orderBy = [`${at} DESC NULLS LAST`, ...ties.map(({ sql, direction }) => `${sql('t')} ${direction}`)].join(', ');
  const limit = Number(asked.values['limit']);
  const startMs = await pageStart(request, table, time, { count: limit + 1, isFiltered: isFiltered(request, table) });
  const read = async (fromMs: number | null): Promise<unknown[][]> => {
    const bindings = createBindings();
    const conditions = [
      ...conditionsOf(request, table, bindings),
      ...afterConditions(request, table, { time, ties }, bindings),
      ...(fromMs === null ? [] : [`${at} >= CAST(${bindings.bind(new Date(fromMs).toISOString())} AS TIMESTAMP)`]),
    ];
    const texts = await query(
      `SELECT ${asText([`CAST(${id} AS VARCHAR)`, `CAST(${utc(at)} AS VARCHAR)`, ...select])}
       FROM ${quoted(table.name)} t
       WHERE ${conditions.join(' AND ')} ORDER BY ${orderBy} LIMIT ${fromMs === null ? limit + 1 : bindings.bind(limit + 1)}`,
      bindings.values,
    );
    return texts.map(([text]) => JSON.parse(String(text)) as unknown[]);
  };
  const newest = startMs === null ? [] : await read(startMs);
  const found = newest.length > limit ? newest : await read(null);
  const page = found.slice(0, limit) as [string, string | null, ...unknown[]][];
  const places = page.map(([key, moment]) => ({ id: key, at: moment }));
  return { rows: page.map(([, , ...row]) => row), places, hasMore: found.length > limit };
}

// The time after which the page is expected; null if the whole range is read. A sort of few rows takes less than one of the range.
async function pageStart(
  { query, rowCache, resource, brandId, asked, after }: StoredRequest,
  table: ResourceTable,
  { name: column, kind }: Column,
  page: { readonly count: number; readonly isFiltered: boolean },
): Promise<number | null> {
  if (rowCache === null || kind !== 'timestamp' || after?.at === null) return null;
  const scope = resource.scope === 'brand' ? brandId : null;
  const spread = await readSpread(rowCache.through(query), { table: table.name, column, brandId: scope });
  if (spread === null) return null;
  const isRanged = table.extent.kind === 'time' && table.extent.field === column;
  const end = isRanged ? Date.parse(asked.to) + DAY_MS : Number.POSITIVE_INFINITY;
  const lastMs = after === null ? end : Date.parse(`${after.at.replace(' ', 'T')}Z`);
  const startMs = expectedStart(spread, lastMs, page);
  return startMs === null || (isRanged && startMs <= Date.parse(asked.from)) ? null : startMs;
}

/**
 * Reads the item of the first table of a resource by its id, also if it is deleted; null if it is not stored. Of a deleted item all
 * stored nested rows are read.
 */
export async function readItem(
  request: Pick<StoredRequest, 'catalogue' | 'query' | 'resource' | 'brandId' | 'writers'>,
  id: string,
): Promise<unknown> {
  const whole: StoredRequest = { ...request, ...WITHOUT_FILTERS };
  const [table] = request.resource.derived as [ResourceTable];
  const served = servedTable(whole, table);
  const bindings = createBindings();
  const { brandId } = request;
  const conditions = [
    ...(brandId === null ? [] : [`t.brand_id = CAST(${bindings.bind(brandId)} AS UUID)`]),
    `t.${quoted(ownKeyOf(table))} = CAST(${bindings.bind(id)} AS ${keyTypeOf(table)})`,
  ];
  const rows = await request.query(
    `SELECT t."_deleted_at" IS NOT NULL, ${selectOf(whole, served).join(', ')} FROM ${quoted(table.name)} t
     WHERE ${conditions.join(' AND ')}`,
    bindings.values,
  );
  const [row] = rows;
  if (row === undefined) return null;
  const [isDeleted, ...selected] = row;
  const [item] = await toItems({ ...whole, withDeleted: isDeleted === true }, served, [selected], null);
  return item;
}

/** Whether the row of another list above the requested list is stored and not deleted. */
export async function hasParent({ catalogue, query, resource, brandId, parent = {} }: StoredRequest): Promise<boolean> {
  const above = resource.parent;
  const [table] = above === undefined ? [] : catalogue.get(above.resource).derived;
  if (above === undefined || table === undefined) return true;
  const bindings = createBindings();
  const conditions = liveConditions('t', resource.scope === 'brand' ? brandId : null, bindings);
  for (const [name, value] of Object.entries(parent)) {
    conditions.push(`CAST(t.${quoted(above.parameters[name] ?? name)} AS VARCHAR) = ${bindings.bind(value)}`);
  }
  const sql = `SELECT 1 FROM ${quoted(table.name)} t WHERE ${conditions.join(' AND ')} LIMIT 1`;
  return (await query(sql, bindings.values)).length > 0;
}

/** Reads the names of the undeclared fields in all items of a list, in alphabetical order. */
export async function readUndeclared(request: StoredRequest, table: ResourceTable): Promise<string[]> {
  const bindings = createBindings();
  const conditions = [...conditionsOf(request, table, bindings), 't."_extra" IS NOT NULL'];
  const rows = await request.query(
    `SELECT DISTINCT unnest(json_keys(t."_extra")) AS name FROM ${quoted(table.name)} t
     WHERE ${conditions.join(' AND ')} ORDER BY name`,
    bindings.values,
  );
  return rows.map(([name]) => String(name)).filter((name) => name !== SENT.values && name !== SENT.absent);
}

interface ServedTable {
  readonly table: ResourceTable;
  readonly fields: Fields;
  readonly columns: readonly Column[];
  readonly children: readonly ChildTable[];
  readonly extra: string;
}

// A detail has the fields of its list and its own. Once the detail was read, its unknown fields replace the list's.
export function servedTable({ catalogue, resource }: StoredRequest, table: ResourceTable): ServedTable {
  const own = { table, fields: table.declaration.fields, columns: table.columns, children: table.children };
  if (resource.change.kind !== 'detail') return { ...own, extra: 't."_extra"' };
  const list = catalogue.get(resource.change.of).derived.find(({ name }) => name === table.name) as ResourceTable;
  return {
    table,
    fields: { ...list.declaration.fields, ...own.fields },
    columns: [...list.columns, ...own.columns.filter(({ name }) => !list.columns.some((c) => c.name === name))],
    children: [...list.children, ...own.children],
    extra: 'CASE WHEN t."_detail_hash" IS NULL THEN t."_extra" ELSE t."_detail_extra" END',
  };
}

// Values of many rows and columns are read far faster as one text than one by one.
function asText(expressions: readonly string[]): string {
  return `json_array(${expressions.join(', ')})`;
}

/** The times of a page's first and last item. */
interface Span {
  readonly from: string;
  readonly to: string;
  /** Whether the page has all items between these times, apart from items at exactly these times. */
  readonly hasAllRows: boolean;
}

function betweenCondition(column: string, { from, to }: Span, bindings: Bindings): string {
  const [first, last] = [bindings.bind(from), bindings.bind(to)];
  return `${column} BETWEEN CAST(${first} AS TIMESTAMP) AND CAST(${last} AS TIMESTAMP)`;
}

function readerOf({ writers }: StoredRequest, { table, fields, columns, extra }: Omit<ServedTable, 'children'>) {
  return createItemReader({ fields, columns, alias: 't', extra, place: table.name, writers });
}

// Selects the item as received, or its columns and, if it has child rows, its key.
function selectOf(request: StoredRequest, served: ServedTable): string[] {
  const { table, columns } = served;
  const { whole } = table.declaration;
  if (whole !== undefined) return ['NULL', `CAST(t.${quoted(columnAt({ columns }, whole)?.name ?? whole)} AS VARCHAR)`];
  const key = served.children.length === 0 ? 'NULL' : `CAST(t.${quoted(ownKeyOf(table))} AS VARCHAR)`;
  return [key, ...readerOf(request, served).select];
}

async function toItems(
  request: StoredRequest,
  served: ServedTable,
  rows: readonly (readonly unknown[])[],
  span: Span | null,
): Promise<unknown[]> {
  if (served.table.declaration.whole !== undefined) return rows.map(([, item]) => parseExactJson(String(item)));
  const reader = readerOf(request, served);
  const keys = rows.map(([key]) => String(key));
  const nested = new Map<string, Map<string, unknown[]>>();
  for (const child of served.children) nested.set(child.field, await readChildren(request, served, child, keys, span));
  return rows.map(([key, ...values]) => reader.read(values, (field) => nested.get(field)?.get(String(key)) ?? []));
}

async function readChildren(
  request: StoredRequest,
  { table }: ServedTable,
  child: ChildTable,
  keys: readonly string[],
  span: Span | null,
): Promise<Map<string, unknown[]>> {
  const found = new Map<string, unknown[]>();
  if (keys.length === 0) return found;
  const { fields, columns } = child;
  const place = placeOf(table, child);
  const { writers } = request;
  const reader = createItemReader({ fields, columns, alias: 't', extra: 't."_extra"', place, writers });
  const parent = `t.${quoted(parentKeyOf(table, child))}`;
  const bindings = createBindings();
  const { brandId, resource, query } = request;
  const live = liveConditions('t', resource.scope === 'brand' ? brandId : null, bindings);
  const conditions = request.withDeleted === true ? live.slice(0, -1) : live;
  conditions.push(...parentConditions(request, bindings));
  const repeated = table.extent.kind === 'time' ? table.extent.field : null;
  const time = child.columns.find(({ source }) => source.from === 'parent' && source.column === repeated);
  if (time !== undefined && span !== null) conditions.push(betweenCondition(`t.${quoted(time.name)}`, span, bindings));
  // The condition on the parents takes as long as the rest of the query.
  if (time === undefined || span?.hasAllRows !== true)
    conditions.push(`${parent} IN (SELECT CAST(unnest(${bindings.bind(keys)}) AS ${keyTypeOf(table)}))`);
  const [[text] = []] = await query(
    `SELECT CAST(to_json(list(${asText([`CAST(${parent} AS VARCHAR)`, 't.ordinal', ...reader.select])})) AS VARCHAR)
     FROM ${quoted(child.name)} t WHERE ${conditions.join(' AND ')}`,
    bindings.values,
  );
  const rows = typeof text === 'string' ? (JSON.parse(text) as unknown[][]) : [];
  const wanted = new Set(keys);
  const byOrdinal = rows.filter(([key]) => wanted.has(String(key))).sort(([, a], [, b]) => Number(a) - Number(b));
  for (const [key, , ...values] of byOrdinal) {
    const items = found.get(String(key)) ?? [];
    found.set(String(key), items);
    items.push(reader.read(values, () => []));
  }
  return found;
}
