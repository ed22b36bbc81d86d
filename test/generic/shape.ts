import type { Json, JsonObject } from './exact-json.ts';
import { type Answer, type PagePart, type Paging, parameter, unpaged } from './paging.ts';
import { type Draw, drawFrom } from './shape-random.ts';

/** Number of rows of the endpoint's table that one sync inserts, updates and deletes. */
export interface RowChanges {
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

/** Position of the items in the body. */
export interface Envelope {
  wrap(part: PagePart): Json;
  itemsOf(body: Json): readonly Json[];
  schema(item: JsonObject, beside: JsonObject): JsonObject;
}

/** Context in which the items of one list are made. */
export interface Making {
  readonly draw: Draw;
  /** Values of the path parameters, in order. */
  readonly parent: readonly string[];
  /** Index of the parent among all parents of the endpoint. */
  readonly parentIndex: number;
  /** Value of the required parameter, for endpoints with one. */
  readonly variant: string;
  readonly nowMs: number;
}

/** An endpoint of the test upstream: its description, its data, and the expected changes of its table. */
export interface Shape {
  /** Ending of test titles. */
  readonly title: string;
  readonly path: string;
  /** Schema of an item; undefined if the document has no schema for the response. */
  readonly item: JsonObject | undefined;
  /** Schemas to which `item` refers, by name. */
  readonly components?: JsonObject;
  readonly envelope: Envelope;
  readonly paging: Paging;
  /** Parameter that must be given, with its allowed values; each value has its own list. */
  readonly variants?: { readonly parameter: string; readonly values: readonly string[] };
  /** Whether the endpoint takes `from` and `to`, which select items by their member `date`. */
  readonly isRange?: true;
  /** Query parameters that select items by the member of the same name. */
  readonly filters?: readonly string[];
  /** Set for an object endpoint, which has one item. */
  readonly isObject?: true;
  /** Returns the items of a list, or null if the endpoint answers 404 for this parent. */
  make(making: Making): Json[] | null;
  /** Returns a version of an item with the same key and one different value. */
  change(item: JsonObject): JsonObject;
  /** Returns an item that no list has, made after a present one. */
  create(item: JsonObject, draw: Draw): JsonObject;
  /** Changes of the table when one item changes; default: one row is updated. */
  readonly changed?: RowChanges;
  /** Types of columns that follow from the schema and the data, by name. */
  readonly columns?: Readonly<Record<string, string>>;
}

/** Settings of `listShape` that are not those of every shape. */
type ListSettings = Pick<Shape, 'title' | 'path' | 'item' | 'change' | 'create'> &
  Partial<
    Pick<Shape, 'components' | 'envelope' | 'paging' | 'variants' | 'isRange' | 'filters' | 'changed' | 'columns'>
  > & {
    readonly count: number;
    makeOne(index: number, making: Making): Json;
  };

/** Defines an endpoint with a list of `count` items per parent. */
export function listShape({ count, makeOne, ...settings }: ListSettings): Shape {
  const make = (making: Making): Json[] => Array.from({ length: count }, (_, index) => makeOne(index, making));
  return { envelope: named('data'), paging: unpaged, make, ...settings };
}

/** The body is the list. */
export const bare: Envelope = {
  wrap: ({ items }) => items,
  itemsOf: (body) => body as readonly Json[],
  schema: (item) => ({ type: 'array', items: item }),
};

/** The body is the item. */
export const objectItself: Envelope = {
  wrap: ({ items }) => items[0] ?? null,
  itemsOf: (body) => [body],
  schema: (item) => item,
};

/** The list is a member of the body, or of an object in it. */
export function named(...path: readonly string[]): Envelope {
  const [first = '', second] = path;
  return {
    wrap: ({ items, beside }) => ({ [first]: second === undefined ? items : { [second]: items }, ...beside }),
    itemsOf: (body) => {
      const outer = (body as JsonObject)[first];
      return (second === undefined ? outer : (outer as JsonObject)[second]) as readonly Json[];
    },
    schema: (item, beside) => {
      const list: JsonObject = { type: 'array', items: item };
      const inner: JsonObject =
        second === undefined ? list : { type: 'object', properties: { [second]: list }, required: [second] };
      return { type: 'object', properties: { [first]: inner, ...beside }, required: [first] };
    },
  };
}

/** Returns an object schema; members named in `optional` are not required. */
export function objectSchema(properties: JsonObject, optional: readonly string[] = []): JsonObject {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required };
}

/** Frequent schemas. */
export const schemas = {
  uuid: { type: 'string', format: 'uuid' },
  text: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  flag: { type: 'boolean' },
  time: { type: 'string', format: 'date-time' },
  day: { type: 'string', format: 'date' },
} as const satisfies Record<string, JsonObject>;

/** Returns the time at this many hours before `nowMs`, in ISO format. */
export function hoursBefore(nowMs: number, hours: number): string {
  return new Date(nowMs - hours * 3_600_000).toISOString();
}

/** Returns the day at this many days before `nowMs`. */
export function daysBefore(nowMs: number, days: number): string {
  return hoursBefore(nowMs, days * 24).slice(0, 10);
}

/** Returns the names of the path parameters. */
export function pathParametersOf({ path }: Pick<Shape, 'path'>): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
}

/** Returns the operation of the OpenAPI document. */
export function operationOf(shape: Shape): JsonObject {
  const { path, item, envelope, paging, variants, filters = [], isRange } = shape;
  const inPath = pathParametersOf(shape).map((name) => ({ name, in: 'path', required: true, schema: schemas.text }));
  const required =
    variants === undefined
      ? []
      : [parameter(variants.parameter, { type: 'string', enum: variants.values }, { required: true })];
  const range = isRange === true ? [parameter('from', schemas.day), parameter('to', schemas.day)] : [];
  const content: JsonObject = item === undefined ? {} : { schema: envelope.schema(item, paging.beside) };
  return {
    summary: `Test data of ${path}`,
    parameters: [
      ...inPath,
      ...required,
      ...range,
      ...filters.map((name) => parameter(name, schemas.text)),
      ...paging.parameters,
    ],
    responses: { 200: { description: shape.title, content: { 'application/json': content } } },
  };
}

/** Returns the items of one list; the same arguments give the same items. */
export function makeItems(shape: Shape, list: Omit<Making, 'draw'>): Json[] | null {
  return shape.make({ ...list, draw: drawFrom([shape.path, ...list.parent, list.variant].join(' ')) });
}

/** Reads all pages of a list as a client of the documented API would. */
export async function readAllPages(
  shape: Shape,
  query: URLSearchParams,
  get: (query: URLSearchParams) => Promise<Answer>,
): Promise<Json[]> {
  const items: Json[] = [];
  let next: URLSearchParams | null = query;
  for (let pages = 0; next !== null; pages += 1) {
    if (pages > 100) throw new Error(`${shape.path} does not end`);
    const answer: Answer = await get(next);
    items.push(...shape.envelope.itemsOf(answer.body));
    next = shape.paging.next(answer, next);
  }
  return items;
}
