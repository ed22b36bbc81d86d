import type { Json, JsonObject } from './exact-json.ts';

/** A response of the test upstream or of the read server, with lower-case header names. */
export interface Answer {
  readonly body: Json;
  readonly headers: Readonly<Record<string, string>>;
}

/** One page of a list: its items, and members of the body besides the items. */
export interface PagePart {
  readonly items: readonly Json[];
  readonly beside: JsonObject;
}

/** How an endpoint splits its list into pages. */
export interface Paging {
  /** Query parameters in the form of the OpenAPI document. */
  readonly parameters: readonly JsonObject[];
  /** Schemas of the members of the body besides the items. */
  readonly beside: JsonObject;
  /** Returns a page. */
  cut(items: readonly Json[], query: URLSearchParams): PagePart;
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
  cut: (items) => ({ items, beside: {} }),
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
      return { items: items.slice(from, to), beside: nested(member, next) };
    },
    next: ({ body }, query) => {
      const next = memberOf(body, member);
      return typeof next === 'string' ? replaced(query, { [name]: next }) : null;
    },
  };
}
