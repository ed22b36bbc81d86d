import { isRecord, parseExactJson, toExactJson } from '../base/json.ts';
import type { Resource } from '../contract/catalogue.ts';
import { cursorParameterOf } from '../contract/query-parameters.ts';
import { type Column, itemColumnOf, type ResourceTable, WHOLE_ITEM } from '../contract/tables.ts';
import { DAY_MS } from '../contract/time.ts';
import { createBindings, liveConditions, ownKeyOf } from '../warehouse/conditions.ts';
import { quoted, utc } from '../warehouse/schema.ts';
import type { Position } from './cursor-signer.ts';
import { afterConditions, keyTypeOf, pageOrder } from './keyset.ts';
import { conditionsOf, isFiltered, orderOf, rangeConditions } from './selected-rows.ts';
import type { StoredRequest } from './stored-request.ts';
import { expectedStart, readSpread } from './time-spread.ts';

/** Place of an item in the order of its list. The time is SQL text in UTC, null if the item has none. */
export type Place = Pick<Position, 'at' | 'id'>;

/** The items of one table; `last` is the end of the page if more items follow, otherwise null. */
export interface StoredItems {
  readonly table: ResourceTable;
  /** The items as JSON text. */
  readonly texts: readonly string[];
  readonly last: Place | null;
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
  const { join, orderBy } = orderOf(request, table, bindings);
  const where = [...conditionsOf(request, table, bindings), ...(await rangeConditions(request, table, bindings))];
  const size = Object.entries(resource.query).find(([, { kind }]) => kind === 'limit')?.[0];
  const given = size === undefined ? undefined : asked.values[size];
  const take = resource.change.kind === 'value' ? 1 : typeof given === 'number' ? given : Number.POSITIVE_INFINITY;
  const skip = after === null ? 0 : Number(after.id);
  const limit = `${take === Number.POSITIVE_INFINITY ? '' : ` LIMIT ${take + 1}`}${skip === 0 ? '' : ` OFFSET ${skip}`}`;
  const rows = await query(
    `SELECT ${itemColumns(request, table)} FROM ${quoted(table.name)} t ${join}
     WHERE ${where.join(' AND ')} ORDER BY ${orderBy}${limit}`,
    bindings.values,
  );
  const texts = rows.slice(0, take).map((row) => textOf(request, row));
  const hasNext = rows.length > take && cursorParameterOf(resource.query) !== null;
  return { table, texts, last: hasNext ? { at: null, id: String(skip + take) } : null };
}

// Reads a page. DuckDB sorts the keys and reads the items of the page only (late materialization), because the limit is a constant and
// the replica raises the limit of rows for which it does so.
async function readPage(request: StoredRequest, table: ResourceTable): Promise<StoredItems> {
  const { asked, query } = request;
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
    return query(
      `SELECT CAST(${id} AS VARCHAR), CAST(${utc(at)} AS VARCHAR), ${itemColumns(request, table)}
       FROM ${quoted(table.name)} t
       WHERE ${conditions.join(' AND ')} ORDER BY ${orderBy} LIMIT ${fromMs === null ? limit + 1 : bindings.bind(limit + 1)}`,
      bindings.values,
    );
  };
  const newest = startMs === null ? [] : await read(startMs);
  const found = newest.length > limit ? newest : await read(null);
  const page = found.slice(0, limit);
  const [key, moment] = page.at(-1) ?? [];
  const last = found.length > limit ? { id: String(key), at: (moment ?? null) as string | null } : null;
  return { table, texts: page.map(([, , ...row]) => textOf(request, row)), last };
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

/** Reads the item of the first table of a resource by its id, also if it is deleted; null if it is not stored. */
export async function readItem(
  { query, resource, brandId }: Pick<StoredRequest, 'query' | 'resource' | 'brandId'>,
  id: string,
): Promise<unknown> {
  const [table] = resource.derived as [ResourceTable];
  const bindings = createBindings();
  const conditions = [
    ...(brandId === null ? [] : [`t.brand_id = CAST(${bindings.bind(brandId)} AS UUID)`]),
    `t.${quoted(ownKeyOf(table))} = CAST(${bindings.bind(id)} AS ${keyTypeOf(table)})`,
  ];
  const rows = await query(
    `SELECT ${itemColumns({ resource }, table)} FROM ${quoted(table.name)} t WHERE ${conditions.join(' AND ')}`,
    bindings.values,
  );
  const [row] = rows;
  return row === undefined ? null : parseExactJson(textOf({ resource }, row));
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
  return rows.map(([name]) => String(name));
}

// Selects the item. A detail is selected with its list's item if it has none yet, or if the list has changed since.
function itemColumns({ resource }: Pick<StoredRequest, 'resource'>, table: ResourceTable): string {
  const item = `CAST(t.${quoted(itemColumnOf(resource, table))} AS VARCHAR)`;
  if (resource.change.kind !== 'detail') return item;
  return `${item}, if(t."_detail_hash" IS NULL, t.${quoted(WHOLE_ITEM)}, NULL)`;
}

function textOf({ resource }: Pick<StoredRequest, 'resource'>, [item, listed]: readonly unknown[]): string {
  return typeof listed === 'string' ? withListed(resource, item as string | null, listed) : String(item);
}

// Returns a detail with the values of its list.
function withListed({ derived: [table] }: Resource, detail: string | null, listed: string): string {
  const own = Object.keys(table?.declaration.fields ?? {});
  const item = parseExactJson(listed);
  const before = detail === null ? Object.fromEntries(own.map((name) => [name, null])) : parseExactJson(detail);
  if (!isRecord(item) || !isRecord(before)) return detail ?? listed;
  const newer = Object.entries(item).filter(([name]) => !own.includes(name) || detail === null);
  return toExactJson({ ...before, ...Object.fromEntries(newer) });
}
