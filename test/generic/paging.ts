import type { Json, JsonObject } from './exact-json.ts';

/** A response of the test upstream or of the read server, with lower-case header names. */
export interface Answer {
  readonly body: Json;
  readonly headers: Readonly<Record<string, string>>;
}

/** One page of a list: its items, members of the body besides the items, and headers. */
export interface PagePart {
  readonly items: readonly Json[];
  readonly beside: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
}

/** How an endpoint splits its list into pages. */
export interface Paging {
  /** Query parameters in the form of the OpenAPI document. */
  readonly parameters: readonly JsonObject[];
  /** Schemas of the members of the body besides the items. */
  readonly beside: JsonObject;
  /** Returns a page. `self` is the absolute URL of the endpoint without a query. */
  cut(items: readonly Json[], query: URLSearchParams, self: string): PagePart;
  /** Returns the query of the page after an answer, or null after the last page. */
  next(answer: Answer, query: URLSearchParams): URLSearchParams | null;
}

const SIZE = 8;
const SIZE_MAX = 20;

/** Returns a query parameter of the document. */
export function parameter(name: string, schema: JsonObject, more: JsonObject = {}): JsonObject {
  return { name, in: 'query', schema, ...more };
}

function sizeParameter(name: string): JsonObject {
  return parameter(name, { type: 'integer', minimum: 1, maximum: SIZE_MAX, default: SIZE });
}

function sizeOf(query: URLSearchParams, name: string): number {
  return Math.min(Math.max(Number(query.get(name) ?? SIZE), 1), SIZE_MAX);
}

// A member of a body by its path; null if it is missing.
function memberOf(body: Json, path: readonly string[]): Json {
  return path.reduce<Json>((at, name) => {
    const isObject = at !== null && typeof at === 'object' && !Array.isArray(at);
    return isObject ? ((at as JsonObject)[name] ?? null) : null;
  }, body);
}

function nested(path: readonly string[], value: Json): JsonObject {
  const [first = '', ...rest] = path;
  return { [first]: rest.length === 0 ? value : nested(rest, value) };
}

function nestedSchema(path: readonly string[], schema: JsonObject): JsonObject {
  const [first = '', ...rest] = path;
  return { [first]: rest.length === 0 ? schema : { type: 'object', properties: nestedSchema(rest, schema) } };
}

function replaced(query: URLSearchParams, values: Readonly<Record<string, string>>): URLSearchParams {
  const copy = new URLSearchParams(query);
  for (const [name, value] of Object.entries(values)) copy.set(name, value);
  return copy;
}

/** All items in one response. */
export const unpaged: Paging = {
  parameters: [],
  beside: {},
  cut: (items) => ({ items, beside: {}, headers: {} }),
  next: () => null,
};

/** An opaque cursor: the parameter that takes it, the parameter of the page size, and the member of the body that has the next one. */
export function cursorPaging(name: string, size: string, member: readonly string[]): Paging {
  return {
    parameters: [sizeParameter(size), parameter(name, { type: 'string' }, { description: 'Cursor of the next page.' })],
    beside: nestedSchema(member, { type: ['string', 'null'] }),
    cut: (items, query) => {
      const given = query.get(name);
      const from = given === null ? 0 : Number(Buffer.from(given, 'base64url').toString().slice(1));
      const to = from + sizeOf(query, size);
      const next = to < items.length ? Buffer.from(`@${to}`).toString('base64url') : null;
      return { items: items.slice(from, to), beside: nested(member, next), headers: {} };
    },
    next: ({ body }, query) => {
      const next = memberOf(body, member);
      return typeof next === 'string' ? replaced(query, { [name]: next }) : null;
    },
  };
}

/** The URL of the next page in the body, absolute or with the path only. */
export function urlPaging(member: readonly string[], isAbsolute: boolean): Paging {
  return {
    parameters: [sizeParameter('limit'), parameter('start', { type: 'string' })],
    beside: nestedSchema(member, { type: ['string', 'null'], format: 'uri-reference' }),
    cut: (items, query, self) => {
      const from = Number(query.get('start') ?? 0);
      const to = from + sizeOf(query, 'limit');
      const base = isAbsolute ? self : new URL(self).pathname;
      const next = to < items.length ? `${base}?${replaced(query, { start: String(to) })}` : null;
      return { items: items.slice(from, to), beside: nested(member, next), headers: {} };
    },
    next: ({ body }) => {
      const next = memberOf(body, member);
      return typeof next === 'string' ? new URL(next, 'http://next.invalid').searchParams : null;
    },
  };
}

/** The URL of the next page in the header Link (RFC 8288). */
export const linkPaging: Paging = {
  parameters: [sizeParameter('per_page'), parameter('page', { type: 'integer', minimum: 1, default: 1 })],
  beside: {},
  cut: (items, query, self) => {
    const page = Number(query.get('page') ?? 1);
    const size = sizeOf(query, 'per_page');
    const last = Math.max(1, Math.ceil(items.length / size));
    const link = (to: number, rel: string): string =>
      `<${self}?${replaced(query, { page: String(to) })}>; rel="${rel}"`;
    const links = [link(1, 'first'), ...(page < last ? [link(page + 1, 'next')] : []), link(last, 'last')];
    return { items: items.slice((page - 1) * size, page * size), beside: {}, headers: { Link: links.join(', ') } };
  },
  next: ({ headers }) => {
    const url = /<([^>]*)>;\s*rel="?next"?/.exec(headers['link'] ?? '')?.[1];
    return url === undefined ? null : new URL(url, 'http://next.invalid').searchParams;
  },
};

/** Page numbers from 1 and a flag whether there are more. */
export function numberPaging(page: string, size: string, more: string): Paging {
  return {
    parameters: [sizeParameter(size), parameter(page, { type: 'integer', minimum: 1, default: 1 })],
    beside: { [page]: { type: 'integer' }, [more]: { type: 'boolean' } },
    cut: (items, query) => {
      const at = Number(query.get(page) ?? 1);
      const length = sizeOf(query, size);
      const beside = { [page]: at, [more]: at * length < items.length };
      return { items: items.slice((at - 1) * length, at * length), beside, headers: {} };
    },
    next: ({ body }, query) =>
      memberOf(body, [more]) === true ? replaced(query, { [page]: String(Number(query.get(page) ?? 1) + 1) }) : null,
  };
}

/** Page numbers from 0 and the number of pages. */
export const zeroPaging: Paging = {
  parameters: [
    sizeParameter('pageSize'),
    parameter('pageNumber', { type: 'integer', minimum: 0, default: 0 }, { description: 'Number from 0.' }),
  ],
  beside: nestedSchema(['page'], {
    type: 'object',
    properties: { pageNumber: { type: 'integer' }, totalPages: { type: 'integer' }, lastPage: { type: 'boolean' } },
  }),
  cut: (items, query) => {
    const [page, size] = [Number(query.get('pageNumber') ?? 0), sizeOf(query, 'pageSize')];
    const totalPages = Math.ceil(items.length / size);
    const beside = { page: { pageNumber: page, totalPages, lastPage: page >= totalPages - 1 } };
    return { items: items.slice(page * size, (page + 1) * size), beside, headers: {} };
  },
  next: ({ body }, query) =>
    memberOf(body, ['page', 'lastPage']) === true
      ? null
      : replaced(query, { pageNumber: String(Number(query.get('pageNumber') ?? 0) + 1) }),
};

/** Page numbers from 1 without any flag: the list ends with a page that is not full. */
export const shortPagePaging: Paging = {
  parameters: [sizeParameter('pageSize'), parameter('page', { type: 'integer', minimum: 1, default: 1 })],
  beside: {},
  cut: (items, query) => {
    const page = Number(query.get('page') ?? 1);
    const size = sizeOf(query, 'pageSize');
    return { items: items.slice((page - 1) * size, page * size), beside: {}, headers: {} };
  },
  next: ({ body }, query) => {
    const length = Array.isArray(body)
      ? body.length
      : (Object.values(body as JsonObject).find(Array.isArray)?.length ?? 0);
    const isLast = length < sizeOf(query, 'pageSize');
    return isLast ? null : replaced(query, { page: String(Number(query.get('page') ?? 1) + 1) });
  },
};

/** An offset, a limit and the total number of items. */
export const offsetPaging: Paging = {
  parameters: [sizeParameter('limit'), parameter('offset', { type: 'integer', minimum: 0, default: 0 })],
  beside: { offset: { type: 'integer' }, limit: { type: 'integer' }, total: { type: 'integer' } },
  cut: (items, query) => {
    const offset = Number(query.get('offset') ?? 0);
    const limit = sizeOf(query, 'limit');
    const beside = { offset, limit, total: items.length };
    return { items: items.slice(offset, offset + limit), beside, headers: {} };
  },
  next: ({ body }, query) => {
    const end = Number(memberOf(body, ['offset'])) + Number(memberOf(body, ['limit']));
    return end < Number(memberOf(body, ['total'])) ? replaced(query, { offset: String(end) }) : null;
  },
};
