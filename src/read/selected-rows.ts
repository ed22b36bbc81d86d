import { SightlineError } from '../base/errors.ts';
import { brandListOf } from '../contract/catalogue.ts';
import type { Values } from '../contract/rows.ts';
import { OBSERVED_AT, type ResourceTable, toColumnName } from '../contract/tables.ts';
import {
  type Bindings,
  columnAt,
  createBindings,
  liveConditions,
  ownKeyOf,
  parameterConditions,
  rangeCondition,
} from '../warehouse/conditions.ts';
import { quoted } from '../warehouse/schema.ts';
import { listingOrder } from '../warehouse/write/listings.ts';
import { keyTypeOf, timeColumnOf } from './keyset.ts';
import type { StoredRequest } from './stored-request.ts';

/** Ranges in an error message. */
const RANGES_SHOWN = 3;

/** Conditions of the rows of a table that a request selects, apart from the range of a report and the place of a page. */
export function conditionsOf(request: StoredRequest, table: ResourceTable, bindings: Bindings): string[] {
  const { catalogue, resource, brandId, member, asked, keepsDeleted } = request;
  const conditions = liveConditions('t', resource.scope === 'brand' ? brandId : null, bindings);
  conditions.push(...allowedConditions(request, table, bindings), ...parentConditions(request, bindings));
  if (member !== null)
    conditions.push(`t.${quoted(ownKeyOf(table))} = CAST(${bindings.bind(member)} AS ${keyTypeOf(table)})`);
  if (table.extent.kind === 'time') {
    conditions.push(rangeCondition(`t.${quoted(table.extent.field)}`, asked, bindings));
  }
  const { each } = resource;
  const chosen = each === undefined ? undefined : asked.values[each.parameter];
  if (each !== undefined && chosen !== undefined)
    conditions.push(`t.${quoted(each.column)} = ${bindings.bind(String(chosen))}`);
  const range = table.extent.kind === 'time' ? { range: asked } : {};
  const target = { catalogue, table, alias: 't', brandId, keepsDeleted, ...range };
  return [...conditions, ...parameterConditions(target, resource.query, asked.values, bindings)];
}

/** Conditions of the rows below the row of another list that the path names. */
export function parentConditions({ parent = {} }: StoredRequest, bindings: Bindings): string[] {
  return Object.entries(parent).map(([name, value]) => `t.${quoted(toColumnName(name))} = ${bindings.bind(value)}`);
}

// Lists of the workspace, such as that of the brands, have rows of brands that the reader may not read.
function allowedConditions(
  { catalogue, resource, allowedBrands }: Omit<StoredRequest, 'query'>,
  table: ResourceTable,
  bindings: Bindings,
): string[] {
  if (allowedBrands === null || resource.scope === 'brand') return [];
  const isBrandList = brandListOf(catalogue).derived.some(({ name }) => name === table.name);
  const column = isBrandList ? ownKeyOf(table) : brandColumnOf(table);
  if (column === null) return [];
  if (allowedBrands.size === 0) return ['false'];
  return [
    `lower(CAST(t.${quoted(column)} AS VARCHAR)) IN (SELECT lower(unnest(${bindings.bind([...allowedBrands])})))`,
  ];
}

/** Returns the column of a list of the workspace with the id of a row's brand; null if it has none. */
export function brandColumnOf(table: ResourceTable): string | null {
  return (columnAt(table, 'brandId') ?? columnAt(table, 'brand_id'))?.name ?? null;
}

/** Reports whether a list leaves out stored items within its range. */
export function isFiltered(request: Omit<StoredRequest, 'query'>, table: ResourceTable): boolean {
  const { catalogue, resource, brandId, member, parent = {}, asked, keepsDeleted } = request;
  if (member !== null || resource.each !== undefined || Object.keys(parent).length > 0) return true;
  const bindings = createBindings();
  const target = { catalogue, table, alias: 't', brandId, keepsDeleted };
  const conditions = parameterConditions(target, resource.query, asked.values, bindings);
  return conditions.length > 0 || allowedConditions(request, table, bindings).length > 0;
}

/**
 * Conditions of the range of a report, whose numbers cannot be computed from those of another range. Without `from` and `to`, the newest
 * range is selected.
 * @throws `invalid_parameter` if the range is not stored
 */
export async function rangeConditions(
  request: StoredRequest,
  table: ResourceTable,
  bindings: Bindings,
): Promise<string[]> {
  const { asked, resource, query } = request;
  if (table.extent.kind !== 'range') return [];
  const own = createBindings();
  const where = conditionsOf(request, table, own).join(' AND ');
  const rows = await query(
    `SELECT DISTINCT strftime(t.range_from, '%Y-%m-%d'), strftime(t.range_to, '%Y-%m-%d') FROM ${quoted(table.name)} t
     WHERE ${where} ORDER BY 2 DESC, 1 DESC`,
    own.values,
  );
  const ranges = rows.map(([from, to]) => ({ from: String(from), to: String(to) }));
  const isGiven = asked.given.some((name) => resource.query[name]?.kind === 'day');
  const chosen = isGiven ? ranges.find(({ from, to }) => from === asked.from && to === asked.to) : ranges[0];
  if (chosen === undefined && ranges.length > 0) {
    const { from: parameter = 'from' } = resource.rangeParameters ?? {};
    const allowed = ranges.slice(0, RANGES_SHOWN).map(({ from, to }) => `${from} to ${to}`);
    throw new SightlineError(
      'invalid_parameter',
      `the range ${asked.from} to ${asked.to} of ${resource.name} is not stored; allowed: ${allowed.join(', ')}`,
      { parameter, allowed: allowed.join(', ') },
    );
  }
  if (chosen === undefined) return [];
  return [
    `t.range_from = CAST(${bindings.bind(chosen.from)} AS DATE)`,
    `t.range_to = CAST(${bindings.bind(chosen.to)} AS DATE)`,
  ];
}

/** SQL of the order of a list that is not paged, and of the join that it needs. */
export function orderOf(request: StoredRequest, table: ResourceTable, bindings: Bindings) {
  const { resource, brandId } = request;
  if (resource.change.kind === 'value') return { join: '', orderBy: `t.${quoted(OBSERVED_AT)} DESC` };
  if (resource.change.kind === 'detail') return { join: '', orderBy: 't.rowid' };
  if (resource.change.kind === 'report' && table.extent.kind === 'time')
    return { join: '', orderBy: `t.${quoted(table.extent.field)}, t.rowid` };
  const scope = resource.scope === 'brand' ? brandId : null;
  if (resource.order === undefined)
    return listingOrder(resource.name, table, scope, bindings, { fixed: requested(request) });
  const at = quoted(timeColumnOf(request, table).name);
  const declared = `t.${at} DESC NULLS LAST, t.${quoted(ownKeyOf(table))} DESC`;
  return listingOrder(resource.name, table, scope, bindings, { others: declared });
}

// The columns that the request sets besides the brand.
function requested({ resource: { each }, parent = {}, asked }: StoredRequest): Values {
  const above = Object.entries(parent).map(([name, value]) => [toColumnName(name), value]);
  const chosen = each === undefined ? [] : [[each.column, asked.values[each.parameter]]];
  return Object.fromEntries([...above, ...chosen]) as Values;
}
