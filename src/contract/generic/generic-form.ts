import { isRecord, memberAt } from '../../base/json.ts';
import { RANGE_ENDS, RANGE_STARTS, VALUES_MAX } from '../openapi/classify.ts';
import type { DocumentEndpoint } from '../openapi/document-endpoints.ts';
import { plain } from '../openapi/page-parameters.ts';
import type { SchemaForm } from '../openapi/schema-form.ts';
import type { Pages } from '../resource.ts';
import { toDay } from '../time.ts';
import { inferPages, moreBeyond } from './generic-pages.ts';
import { columnsOfSchema, extendColumns, type ItemColumn, toPlainName, valueIn } from './item-columns.ts';
import { chooseKey, idNames } from './item-key.ts';

/** Names of lists in a body, the most specific first; a list named like the path comes before them. */
const LIST_NAMES = ['data', 'items', 'results', 'records', 'entries', 'rows', 'values', 'list', 'content', 'elements'];
/** Last segments of paths that name an action and not the items. */
const ACTIONS = ['search', 'list', 'all', 'query', 'index', 'find'];
/** Depth of a list in the body. */
const LIST_DEPTH_MAX = 3;
/** Maximum number of items of a response. With 300 bytes each, 20,000 items take 4 s and 300 MB. */
export const ITEMS_MAX = 20_000;
/** Columns of a table that no member may have. */
const RESERVED_COLUMNS = [
  '_item',
  '_synced_at',
  '_run_id',
  '_row_hash',
  '_deleted_at',
  '_extra',
  '_content_key',
  'observed_at',
  'range_from',
  'range_to',
  'brand_id',
  'valid_from',
  'valid_to',
  'change',
  '_children',
];

/**
 * An undeclared endpoint: the place of its items in the body, their columns and the cursor. Stored as
 * JSON in `sync.endpoints`. Responses extend it; they never make a column narrower.
 */
export interface GenericForm {
  /** Name of the resource and of its table. */
  readonly name: string;
  /** Path below the base URL; the parameter of the brand is `brandId`. */
  readonly path: string;
  readonly about: string | null;
  readonly scope: 'workspace' | 'brand';
  /** Place of the items; null until a schema or a response shows it. */
  readonly at: 'body' | { readonly list: string } | null;
  readonly pages: Pages | null;
  /** Parameters that every request sends. */
  readonly ask: Readonly<Record<string, string>>;
  /** A required parameter and its values: each value has its own list. */
  readonly each: {
    readonly parameter: string;
    readonly values: readonly string[];
    readonly about: string | null;
  } | null;
  /** Names of the parameters of a range of days. */
  readonly range: { readonly from: string; readonly to: string } | null;
  /** Parameters that may select items by the field of the same name, with their descriptions. */
  readonly filters: Readonly<Record<string, string>>;
  /** Columns that the warehouse derives from the stored items. */
  readonly columns: readonly ItemColumn[];
  /** Member of the items of a report with their day; null if there is none. It does not change once an item was seen. */
  readonly day: string | null;
  /** Members that identify an item. They do not change once an item was seen. */
  readonly key: readonly string[];
  /** Whether `key` was chosen from items. */
  readonly isKeyed: boolean;
  /** Whether a response has shown the place of the items. */
  readonly isSeen: boolean;
  /** Set while a list cannot be read completely: its slice and why. */
  readonly unsupported?: { readonly list: string; readonly reason: string };
}

/** A response, and how much of its list was read before. */
export interface SeenResponse {
  readonly body: unknown;
  /** Header Link, or null. */
  readonly link: string | null;
  readonly isFirstPage: boolean;
}

/** Names that are taken in the workspace, in lower case. */
export interface Taken {
  readonly resources: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
}

/** Returns the form of an endpoint from its description in the document. `brands` is the path of the list of brands. */
export function formOfEndpoint(endpoint: DocumentEndpoint, brands: string, taken: Taken): GenericForm {
  const schema = endpoint.response();
  const { path, scope } = toOwnPath(endpoint.path, brands);
  const name = chooseName(path, taken);
  const { pages, ask: limits, parameters: ofPages } = inferPages(endpoint, schema, null);
  const range = hasOwnParent(path, scope) ? null : rangeOf(endpoint, pages);
  const query = endpoint.parameters.filter(({ in: place }) => place === 'query');
  const others = query.filter(
    (one) => !ofPages.includes(one.name) && one.name !== range?.from && one.name !== range?.to,
  );
  const required = others.filter((one) => one.required);
  const varied = required.find(({ schema: { standard, values } }) => standard === null && (values?.length ?? 0) > 1);
  const ask = Object.fromEntries(
    required
      .filter((one) => one !== varied)
      .map((one) => [one.name, one.schema.standard ?? one.schema.values?.[0] ?? 'true']),
  );
  // A time need not select equal values.
  const isScalar = ({ types, format }: SchemaForm): boolean =>
    !types.has('array') && !types.has('object') && format !== 'date' && format !== 'date-time';
  const filters = others.filter((one) => !one.required && isScalar(one.schema));
  const at = placeInSchema(schema, { name, path });
  const form: GenericForm = {
    name,
    path,
    about: endpoint.about,
    scope,
    at,
    pages: at === 'body' ? null : pages,
    ask: at === 'body' ? ask : { ...limits, ...ask },
    each:
      varied === undefined
        ? null
        : { parameter: varied.name, values: (varied.schema.values ?? []).slice(0, VALUES_MAX), about: varied.about },
    range,
    filters: Object.fromEntries(
      filters.map((one) => [one.name, one.about ?? `Items whose ${one.name} has this value.`]),
    ),
    columns: [],
    day: null,
    key: [],
    isKeyed: false,
    isSeen: false,
  };
  const item = at === null ? null : itemSchema(schema, at);
  if (item === null) return form;
  const columns = columnsOfSchema(item, reservedNames(form));
  const key = at === 'body' ? [] : idNames(columns, singularOf(name)).slice(0, 1);
  return {
    ...form,
    columns,
    key,
    day: dayOf(
      form,
      [...item.fields].filter(([, { format }]) => format === 'date'),
    ),
  };
}

/**
 * Returns the form extended by a response: it has the columns of all items, and the place of the items, the key and the pages are chosen.
 * Returns the same object if the response fits.
 */
export function adaptForm(
  form: GenericForm,
  endpoint: Pick<DocumentEndpoint, 'parameters' | 'response'>,
  response: SeenResponse,
): GenericForm {
  const at = placeInBody(form, response.body);
  if (at === null) return form;
  const items = itemsAt(response.body, at) ?? [];
  const columns = extendColumns(form.columns, items, reservedNames(form));
  const isFirst = at !== 'body' && !form.isKeyed && items.length > 0;
  const key = isFirst ? chooseKey(columns, items, singularOf(form.name)) : form.key;
  const day = isFirst && form.day === null ? dayOf(form, daysIn(columns, items)) : form.day;
  const pages = at === 'body' ? null : adaptPages(form, endpoint, response);
  const isSame =
    form.isSeen && columns === form.columns && !isFirst && pages === form.pages && isSamePlace(form.at, at);
  if (isSame) return form;
  // A limit of the whole list is the size of a page once there are pages.
  const size = pages?.size?.parameter;
  const ask = Object.fromEntries(Object.entries(form.ask).filter(([name]) => name !== size));
  return { ...form, at, columns, key, day, isKeyed: form.isKeyed || isFirst, pages, ask, isSeen: true };
}

// Returns null if the body has no items at this place.
function itemsAt(body: unknown, at: NonNullable<GenericForm['at']>): readonly unknown[] | null {
  if (at === 'body') return [body];
  const list = Array.isArray(body) ? body : memberAt(body, at.list);
  return Array.isArray(list) ? list : null;
}

/** Returns the items of a body of an endpoint; null if it has none where earlier ones had them. */
export function itemsIn(form: GenericForm, body: unknown): readonly unknown[] | null {
  const at = placeInBody(form, body);
  return at === null ? null : itemsAt(body, at);
}

/** Returns the name of one item of a list: `reviews` gives `review`. */
export function singularOf(name: string): string {
  if (name.endsWith('ies')) return `${name.slice(0, -3)}y`;
  return /(?:s|x|z|ch|sh)es$/.test(name) ? name.slice(0, -2) : name.endsWith('s') ? name.slice(0, -1) : name;
}

// A path below the list of brands has the scope of a brand, whatever its parameter is called.
function toOwnPath(path: string, brands: string): Pick<GenericForm, 'path' | 'scope'> {
  if (!path.startsWith(`${brands}/{`)) return { path, scope: 'workspace' };
  return { path: path.replace(/\{\w+\}/, '{brandId}'), scope: 'brand' };
}

// Whether the path needs values of a list besides that of the brands. Such lists are read without a range.
function hasOwnParent(path: string, scope: GenericForm['scope']): boolean {
  return (path.match(/\{/g) ?? []).length > (scope === 'brand' ? 1 : 0);
}

function chooseName(path: string, { resources, tables }: Taken): string {
  const words = wordsOf(path);
  const isItem = path.endsWith('}');
  const last = words.at(-1) ?? 'root';
  const own = isItem ? `${singularOf(last)}_details` : last;
  const above = words.at(-2);
  const candidates = [own, ...(above === undefined ? [] : [`${singularOf(above)}_${own}`]), `workspace_${own}`];
  const isFree = (name: string): boolean =>
    !resources.has(name) && !tables.has(name) && !tables.has(`${name}_history`) && !name.endsWith('_history');
  const free = candidates.find(isFree);
  if (free !== undefined) return free;
  for (let number = 2; ; number += 1) if (isFree(`${own}_${number}`)) return `${own}_${number}`;
}

// The literal segments of a path. `/series/search` is the list of series.
function wordsOf(path: string): string[] {
  const literals = path.split('/').filter((segment) => segment !== '' && !segment.startsWith('{'));
  const words = literals.map((segment) => toPlainName(segment).replace(/^_+/, 'n')).filter(Boolean);
  return words.length > 1 && ACTIONS.includes(words.at(-1) as string) ? words.slice(0, -1) : words;
}

// Names of the columns that every table of the endpoint has.
function reservedNames({ path, each }: GenericForm): string[] {
  const parents = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => toPlainName(parameter));
  return [...RESERVED_COLUMNS, ...parents, ...(each === null ? [] : [toPlainName(each.parameter)])];
}

// The member by which a range of days selects items.
function dayOf(
  { range }: Pick<GenericForm, 'range'>,
  members: readonly (readonly [string, ...unknown[]])[],
): string | null {
  if (range === null) return null;
  const names = members.map(([name]) => name);
  return names.find((name) => /^(?:date|day)$/i.test(name)) ?? (names.length === 1 ? (names[0] as string) : null);
}

// The members that have a calendar day in all items.
function daysIn(columns: readonly ItemColumn[], items: readonly unknown[]): [string][] {
  return columns.flatMap((column): [string][] => {
    const isDay = items.every((item) => toDay(String(valueIn(item, column) ?? '')) !== null);
    return column.path.length === 1 && column.kind === 'text' && isDay ? [[column.path[0] as string]] : [];
  });
}

function rangeOf({ parameters }: DocumentEndpoint, pages: Pages | null): GenericForm['range'] {
  const days = parameters.filter(
    ({ in: place, name, schema: { types } }) =>
      place === 'query' && !types.has('integer') && !types.has('number') && pages?.parameter !== name,
  );
  for (const [index, start] of RANGE_STARTS.entries()) {
    const from = days.find(({ name }) => plain(name) === start)?.name;
    const to = days.find(({ name }) => plain(name) === RANGE_ENDS[index])?.name;
    if (from !== undefined && to !== undefined) return { from, to };
  }
  return null;
}

// The list that a schema describes: the body itself, a member, or a member of a member.
function placeInSchema(schema: SchemaForm, named: Pick<GenericForm, 'name' | 'path'>): GenericForm['at'] {
  if (schema.types.has('array')) return { list: 'data' };
  if (!schema.types.has('object') || schema.fields.size === 0) return null;
  const lists: string[] = [];
  const collect = (form: SchemaForm, path: readonly string[]): void => {
    for (const [member, field] of form.fields) {
      const isPlain = !member.includes('.') && member !== '';
      if (field.types.has('array') && isPlain) lists.push([...path, member].join('.'));
      if (field.types.has('object') && isPlain && path.length + 1 < LIST_DEPTH_MAX) collect(field, [...path, member]);
    }
  };
  collect(schema, []);
  const list = bestList(lists, [...schema.fields.keys()], named);
  return list === null ? 'body' : { list };
}

function itemSchema(schema: SchemaForm, at: NonNullable<GenericForm['at']>): SchemaForm | null {
  if (at === 'body') return schema;
  if (schema.types.has('array')) return schema.items;
  const list = at.list.split('.').reduce<SchemaForm | undefined>((form, name) => form?.fields.get(name), schema);
  return list?.items ?? null;
}

// A place that a response has shown stays, so that a body without it is an error and no other list is stored instead.
function placeInBody(form: GenericForm, body: unknown): GenericForm['at'] {
  const { at, isSeen } = form;
  if (at !== null && (isSeen || itemsAt(body, at) !== null)) {
    if (at !== 'body' || isSeen || isRecord(body)) return itemsAt(body, at) === null ? null : at;
  }
  if (Array.isArray(body)) return { list: 'data' };
  if (!isRecord(body) || 'error' in body) return null;
  const lists: string[] = [];
  const collect = (value: Record<string, unknown>, path: readonly string[]): void => {
    for (const [member, inner] of Object.entries(value)) {
      if (member.includes('.') || member === '') continue;
      if (Array.isArray(inner)) lists.push([...path, member].join('.'));
      else if (isRecord(inner) && path.length + 1 < LIST_DEPTH_MAX) collect(inner, [...path, member]);
    }
  };
  collect(body, []);
  const list = bestList(lists, Object.keys(body), form);
  return list === null ? 'body' : { list };
}

// A body with several members that are no description of a page is an object, unless a list has one of the usual names.
function bestList(
  lists: readonly string[],
  members: readonly string[],
  { name, path }: Pick<GenericForm, 'name' | 'path'>,
): string | null {
  const lastOf = (list: string): string => plain(list.split('.').at(-1) ?? '');
  const usual = [name, singularOf(name), ...wordsOf(path).toReversed()].map(plain).concat(LIST_NAMES);
  const named = usual.flatMap((one) => lists.filter((list) => lastOf(list) === one))[0];
  if (named !== undefined && (named.includes('.') ? isFrameOnly(members) : true)) return named;
  const [only, ...others] = lists.filter((list) => !list.includes('.'));
  return only !== undefined && others.length === 0 && isFrameOnly(members.filter((member) => member !== only))
    ? only
    : null;
}

/** Names of members that describe a page or a request. */
const FRAME =
  /^(?:next|prev|previous|first|last|self|links?|meta(?:data)?|paging|pagination|pageinfo|page|perpage|pagesize|limit|offset|start|size|total|count|totalcount|totalpages|totalitems|pages|hasmore|more|hasnext|cursor|nextcursor|nextpagetoken|nexttoken|nextpage|status|success|ok|object|kind|type|url|requestid|from|to|data|result|response|info|sort|order|filters?|query|links)$/;

function isFrameOnly(members: readonly string[]): boolean {
  return members.every((member) => FRAME.test(plain(member)));
}

// A first response can show the place of the cursor; a last page does not.
function adaptPages(
  { pages: known, isSeen }: GenericForm,
  endpoint: Pick<DocumentEndpoint, 'parameters' | 'response'>,
  { body, isFirstPage }: SeenResponse,
): Pages | null {
  if (!isFirstPage || (isSeen && known !== null)) return known;
  const { pages } = inferPages(endpoint, endpoint.response(), body);
  return pages === null || JSON.stringify(pages) === JSON.stringify(known) ? known : pages;
}

function isSamePlace(a: GenericForm['at'], b: GenericForm['at']): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Returns the form after a page of the slice `list`, which may show that the list cannot be read: it has too many items on a page, or
 * more items than its only page.
 */
export function checkPage(form: GenericForm, list: string, response: SeenResponse): GenericForm {
  const reason = problemOf(form, response);
  if (reason !== null) return form.unsupported === undefined ? { ...form, unsupported: { list, reason } } : form;
  const { unsupported, ...supported } = form;
  return unsupported?.list === list && response.isFirstPage ? supported : form;
}

function problemOf(form: GenericForm, { body, link, isFirstPage }: SeenResponse): string | null {
  const count = itemsIn(form, body)?.length ?? 0;
  if (count > ITEMS_MAX) return `the list has ${count} items on one page; allowed: up to ${ITEMS_MAX}`;
  if (!isFirstPage || form.pages !== null || form.at === 'body') return null;
  // The total of a report may be a sum.
  const more = moreBeyond({ body, link, items: form.range === null ? count : Number.POSITIVE_INFINITY });
  return more === null
    ? null
    : `the list has more items than its only page: ${more}; allowed: a cursor for the next page`;
}

/** Returns a stored form; null if the value is none. */
export function toGenericForm(value: unknown): GenericForm | null {
  const isForm = isRecord(value) && typeof value['name'] === 'string' && Array.isArray(value['columns']);
  return isForm ? (value as unknown as GenericForm) : null;
}
