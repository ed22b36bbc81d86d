import { declarations as declared } from '../../schemas/catalogue.ts';
import { type Fields, metaOf } from '../../src/contract/fields.ts';
import type { ResourceDeclaration, TableDeclaration } from '../../src/contract/resource.ts';

// An independent reader of the API: fetches everything and converts it to rows. It shares the declarations with the
// engine, but none of its code, so that comparing the two is meaningful.

/** A JSON value; bodies are checked by comparison, not by types. */
// oxlint-disable-next-line typescript/no-explicit-any -- see above
export type Json = any;

/** Rows as comparable strings, and the selection of warehouse rows that they must equal. */
export interface Expected {
  readonly resource: string;
  readonly table: string;
  /** Columns to compare. */
  readonly columns: readonly string[];
  /** SQL condition that selects the rows of the warehouse. */
  readonly where: string;
  readonly rows: readonly Record<string, unknown>[];
}

/** The address of upstream, and facts about it that the API does not expose. */
export interface Upstream {
  readonly baseUrl: string;
  readonly key: string;
  readonly today: string;
  /** Parameter values that upstream does not support, by the parameter's declared name. */
  readonly unasked?: Readonly<Record<string, readonly string[]>>;
  /** Actual names of parameters, by declared name. */
  readonly names?: Readonly<Record<string, string>>;
  readonly declarations?: readonly ResourceDeclaration[];
  /** Ranges whose totals to read, by table and brand. */
  readonly totalsOf: (table: string, brandId: string) => Promise<readonly Record<string, string>[]>;
}

const DAY_MS = 86_400_000;
const REQUESTS_MAX = 20_000;

/** Reads all of upstream and returns the expected content of the warehouse. */
export async function readUpstream(upstream: Upstream): Promise<Expected[]> {
  const declarations = upstream.declarations ?? declared;
  const expected: Expected[] = [];
  const get = getter(upstream);
  const brands = listOf(await get('/brands'), 'data');
  for (const declaration of declarations) {
    const scopes: Json[] = declaration.scope === 'brand' ? brands : [null];
    for (const brand of scopes) expected.push(...(await readScope(upstream, get, declarations, declaration, brand)));
  }
  return expected;
}

type Get = (path: string, query?: Record<string, string>) => Promise<Json>;

function getter({ baseUrl, key }: Upstream): Get {
  let requests = 0;
  return async (path, query = {}) => {
    requests += 1;
    if (requests > REQUESTS_MAX) throw new Error('too many requests');
    const search = new URLSearchParams(query).toString();
    const response = await fetch(`${baseUrl}${path}?${search}`, { headers: { 'x-api-key': key } });
    if (response.status !== 200) throw new Error(`${path}?${search} answered ${response.status}`);
    return response.json();
  };
}

async function readScope(
  upstream: Upstream,
  get: Get,
  declarations: readonly ResourceDeclaration[],
  declaration: ResourceDeclaration,
  brand: Json,
): Promise<Expected[]> {
  const { change, each } = declaration;
  const path = declaration.path.replace('{brandId}', change.kind === 'detail' ? '{brandId}' : brand?.id);
  const inBrand = brand === null ? [] : [`brand_id = '${brand.id}'`];
  if (change.kind === 'detail') {
    const list = declarations.find(({ name }) => name === change.of) as ResourceDeclaration;
    const members = listOf(await get(list.path.replace('{brandId}', brand?.id)), 'data');
    const filled = declaration.scope === 'brand' ? declaration.path.replace('{brandId}', brand.id) : declaration.path;
    const bodies: Json[] = [];
    for (const member of members) bodies.push(await get(filled.replace(`{${change.parameter}}`, member.id)));
    const of = list.tables[0] as TableDeclaration;
    return declaration.tables.flatMap((table) =>
      rowsOf(declaration, table, bodies.map(unwrapped(table)), inBrand, brand, {}, Object.keys(of.fields)),
    );
  }
  const asked = declaration.ask ?? {};
  const skip = each === undefined ? [] : (upstream.unasked?.[each.parameter] ?? []);
  const values = each === undefined ? [null] : (declaration.query[each.parameter]?.values ?? []);
  const expected: Expected[] = [];
  for (const value of values.filter((candidate) => candidate === null || !skip.includes(candidate))) {
    const variant = each === undefined || value === null ? {} : { [each.column]: value };
    const name = each === undefined ? '' : (upstream.names?.[each.parameter] ?? each.parameter);
    // Omit the parameter for its default value, because its actual name may be unknown.
    const isDefault = value === null || value === declaration.query[each?.parameter ?? '']?.default;
    const query = { ...asked, ...(isDefault ? {} : { [name]: value }) };
    const where = [...inBrand, ...Object.entries(variant).map(([column, text]) => `${column} = '${text}'`)];
    for (const ranges of rangesOf(upstream, declaration, brand)) {
      const bodies = await Promise.all(
        ranges.map(async (range) => ({ range, body: await readAll(get, declaration, path, { ...query, ...range }) })),
      );
      expected.push(...bodiesToRows(declaration, bodies, where, brand, variant));
    }
    if (change.kind === 'report' && change.eachDay !== undefined) {
      expected.push(...(await readDays(upstream, get, declaration, path, query, where, brand, variant)));
    }
  }
  return expected;
}

interface Read {
  readonly range: Record<string, string>;
  readonly body: Json;
}

function bodiesToRows(
  declaration: ResourceDeclaration,
  reads: readonly Read[],
  where: readonly string[],
  brand: Json,
  variant: Record<string, string>,
): Expected[] {
  return declaration.tables.flatMap((table) => {
    if (table.extent?.kind === 'range') {
      return reads.flatMap(({ range, body }) => {
        const ranged = { range_from: range['from'], range_to: range['to'] };
        const own = [...where, ...Object.entries(ranged).map(([column, day]) => `${column} = '${day}'`)];
        return rowsOf(declaration, table, itemsOf(table, body), own, brand, { ...variant, ...ranged }, [], body);
      });
    }
    const items = reads.flatMap(({ body }) => itemsOf(table, body));
    return rowsOf(declaration, table, items, where, brand, variant);
  });
}

// Totals of the given ranges.
async function readDays(
  upstream: Upstream,
  get: Get,
  declaration: ResourceDeclaration,
  path: string,
  query: Record<string, string>,
  where: readonly string[],
  brand: Json,
  variant: Record<string, string>,
): Promise<Expected[]> {
  const totals = declaration.tables.find(({ extent }) => extent?.kind === 'range') as TableDeclaration;
  const ranges = await upstream.totalsOf(totals.name, brand.id);
  const reads = await Promise.all(
    ranges.map(async (range) => ({ range, body: await get(path, { ...query, ...range }) })),
  );
  return bodiesToRows(declaration, reads, where, brand, variant).filter(({ columns }) =>
    columns.includes('range_from'),
  );
}

// Ranges whose rows together are the content of one table.
function rangesOf(upstream: Upstream, { change, zone }: ResourceDeclaration, brand: Json): Record<string, string>[][] {
  const { today } = upstream;
  if (change.kind === 'report' && change.span === 'recent') return [[{ from: shift(today, -29), to: today }]];
  if (change.kind !== 'report' && change.kind !== 'window') return [[{}]];
  const ranges: Record<string, string>[] = [];
  const since = String(brand.createdAt).slice(0, 10);
  // The last day of the newest range may be a day later, which its length must allow.
  let days = zone === 'echoed' ? 365 : 366;
  for (let to = today; ranges.length === 0 || to >= since; to = shift(to, -days), days = 366) {
    ranges.push({ from: shift(to, 1 - days), to });
  }
  return [ranges];
}

// Returns all pages of a list, or the single body.
async function readAll(get: Get, declaration: ResourceDeclaration, path: string, query: Record<string, string>) {
  const most = declaration.query['limit']?.max;
  const asked = { ...query, ...(most === undefined ? {} : { limit: String(most) }) };
  if (declaration.paging === 'single') return get(path, asked);
  const data: Json[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: Json = await get(path, { ...asked, ...(cursor === '' ? {} : { cursor }) });
    data.push(...page.data);
    cursor = page.nextCursor;
  }
  return { data };
}

function itemsOf({ at }: TableDeclaration, body: Json): Json[] {
  return at === 'body' ? [body] : listOf(body, at.list);
}

function listOf(body: Json, name: string): Json[] {
  return Array.isArray(body) ? body : body[name];
}

// A single object may be wrapped in `data`.
function unwrapped({ fields }: TableDeclaration) {
  return (body: Json): Json => (Object.keys(fields).some((field) => field in body) ? body : body.data);
}

function rowsOf(
  declaration: ResourceDeclaration,
  table: TableDeclaration,
  items: readonly Json[],
  where: readonly string[],
  brand: Json,
  fixed: Record<string, unknown>,
  alsoKnown: readonly string[] = [],
  body: Json = undefined,
): Expected[] {
  const { name: resource, change } = declaration;
  const isDetail = change.kind === 'detail';
  const extraColumn = isDetail ? '_detail_extra' : '_extra';
  const scope = { ...(brand === null ? {} : { brand_id: brand.id }), ...fixed };
  const known = new Set([...Object.keys(table.fields), ...alsoKnown, ...frameOf(declaration, table)]);
  const read = (item: Json): Record<string, unknown> => ({
    ...scope,
    ...(table.normalize === undefined ? toColumns(table.fields, item, '') : unspecified(table, item)),
    ...(table.beside === undefined ? {} : toColumns(table.beside, body, '')),
    [extraColumn]: unknownFields(table.fields, known, item),
  });
  const rows = items.map(read);
  const columns = Object.keys(rows[0] ?? scope);
  const live = where.length === 0 ? ['true'] : where;
  const own: Expected = { resource, table: table.name, columns, where: live.join(' AND '), rows };
  if (change.kind === 'value') return [{ ...own, where: `observed_at = (SELECT max(observed_at) FROM ${table.name})` }];
  const children = Object.entries(table.fields).flatMap(([field, schema]): Expected[] => {
    const meta = metaOf(schema);
    if (meta.as !== 'child') return [];
    const childRows = items.flatMap((item) => {
      const parent = toColumns(table.fields, item, '');
      const key = table.key.map((part): [string, unknown] => {
        const column = snake(part);
        return [column === 'id' ? `${table.name.replace(/s$/, '')}_id` : column, parent[column]];
      });
      const repeated = meta.child.repeat.map((part): [string, unknown] => [snake(part), parent[snake(part)]]);
      return (item[field] ?? []).map((child: Json, ordinal: number) => ({
        ...scope,
        ...Object.fromEntries([...key, ...repeated]),
        ordinal,
        ...toColumns(meta.child.fields, child, ''),
        _extra: unknownFields(meta.child.fields, new Set(Object.keys(meta.child.fields)), child),
      }));
    });
    const childColumns = Object.keys(childRows[0] ?? {});
    return [{ resource, table: meta.child.table, columns: childColumns, where: live.join(' AND '), rows: childRows }];
  });
  return [own, ...children];
}

function frameOf({ tables, query }: ResourceDeclaration, { at }: TableDeclaration): string[] {
  if (at !== 'body') return [];
  return [...tables.flatMap(({ at: place }) => (place === 'body' ? [] : [place.list])), ...Object.keys(query)];
}

// Records of unspecified form: stored completely in `record`, with id and name if these are plain strings.
function unspecified(table: TableDeclaration, item: Json): Record<string, unknown> {
  const columns: Record<string, unknown> = { record: sorted(item) };
  if (typeof item === 'string') return { ...columns, [snake(table.key[0] as string)]: item };
  if (typeof item === 'number') return { ...columns, balance: item };
  for (const field of Object.keys(table.fields)) if (field in item) columns[snake(field)] = item[field];
  return columns;
}

function toColumns(fields: Fields, item: Json, prefix: string): Record<string, unknown> {
  const columns: Record<string, unknown> = {};
  for (const [field, schema] of Object.entries(fields)) {
    const meta = metaOf(schema);
    const value = item?.[field] ?? null;
    if (meta.as === 'group') Object.assign(columns, toColumns(meta.fields, value, `${snake(field)}_`));
    if (meta.as === 'column') columns[meta.column ?? `${prefix}${snake(field)}`] = toValue(meta.kind, value);
  }
  return columns;
}

function toValue(kind: string, value: Json): unknown {
  if (value === null) return null;
  if (kind === 'uuid') return value.toLowerCase();
  if (kind === 'timestamp') return new Date(value).toISOString();
  return kind === 'json' ? sorted(value) : value;
}

function unknownFields(fields: Fields, known: ReadonlySet<string>, item: Json): unknown {
  if (typeof item !== 'object' || item === null) return null;
  const unknown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(item)) {
    if (!known.has(name)) unknown[name] = value;
    const schema = fields[name];
    const meta = schema === undefined ? undefined : metaOf(schema);
    if (meta?.as !== 'group' || value === null) continue;
    const inner = unknownFields(meta.fields, new Set(Object.keys(meta.fields)), value);
    if (inner !== null) unknown[name] = inner;
  }
  return Object.keys(unknown).length === 0 ? null : sorted(unknown);
}

/** Sorts the keys of all objects in a value, so that its JSON can be compared. */
export function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}

function snake(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function shift(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}
