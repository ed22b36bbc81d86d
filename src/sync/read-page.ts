import { isRecord } from '../base/json.ts';
import { BodyError, itemsOf } from '../contract/body.ts';
import type { Catalogue, Resource } from '../contract/catalogue.ts';
import { formsOf } from '../contract/formats.ts';
import type { Implausible } from '../contract/implausible.ts';
import { createTimeCheck } from '../contract/plausibility/item-times.ts';
import { itemsMaxOf } from '../contract/plausibility/page-work.ts';
import { createRowReader, type Repeats, type RowReader, type TableRows, type Values } from '../contract/rows.ts';
import { columnOf } from '../contract/tables.ts';
import { toDay } from '../contract/time.ts';
import type { BodyText } from '../upstream/client.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** The part of a slice that the rows of a page depend on. */
export interface PageScope {
  readonly fixed: Values;
  readonly query: Readonly<Record<string, string>>;
  /** For a detail: the id of the list's row. */
  readonly member: string | null;
  /** Rows of the slice that are identified by their content, by content; the page adds its rows. */
  readonly repeats?: Repeats;
}

/** A parsed page. */
export interface ReadPage {
  readonly tables: readonly TableRows[];
  /** Number of items of the first table. */
  readonly items: number;
  readonly forms: ReadonlyMap<string, string>;
  /** Keys that occur more than once. */
  readonly implausible: readonly Implausible[];
}

/**
 * Parses a page from upstream or from the raw pages; `today` is upstream's day when it was sent.
 * @throws BodyError if the page cannot be used
 */
export function readPage(
  resource: Resource,
  reader: RowReader,
  scope: PageScope,
  body: unknown,
  { bytes, isDamaged }: BodyText,
  today: string,
): ReadPage {
  checkEcho(resource, scope, body);
  const { range_from: from, range_to: to } = scope.fixed;
  const range = typeof from === 'string' && typeof to === 'string' ? { from, to } : null;
  const check = createTimeCheck(resource, { range, today });
  const { repeats } = scope;
  const options = {
    itemsMax: itemsMaxOf(resource, scope.query),
    bytes: bytes.length,
    isDamaged,
    check,
    ...(repeats === undefined ? {} : { repeats }),
  };
  const tables = aboutMember(scope, reader.read(body, scope.fixed, options));
  const isOpen = resource.paging === 'cursor' && resource.pages === undefined && mayGoOn(scope, body, tables);
  const implausible = tables.flatMap(({ table, repeated }) =>
    repeated.map((value) => ({ path: `${table.name}[] key`, allowed: 'each key once in a page', value })),
  );
  const [first] = resource.derived;
  const items = first === undefined ? 0 : (itemsOf(resource, first, body)?.length ?? 0);
  return { tables: isOpen ? inconclusive(tables) : tables, items, forms: formsOf(resource, body), implausible };
}

/** Returns a function that creates the reader of each declaration once. The pages add to the warehouse's observed forms. */
export function createRowReaders(
  catalogue: Catalogue,
  { forms }: Pick<Warehouse, 'forms'>,
): (resource: string) => RowReader {
  const readers = new Map<string, { readonly resource: Resource; readonly reader: RowReader }>();
  return (name) => {
    const resource = catalogue.get(name);
    const known = readers.get(name);
    // An inferred resource is replaced when responses extend it.
    if (known?.resource === resource) return known.reader;
    const reader = createRowReader(catalogue, resource, forms);
    readers.set(name, { resource, reader });
    return reader;
  };
}

/** Returns the rows of a list that upstream does not have: none. */
export function noRows(resource: Resource): readonly TableRows[] {
  const none = {
    rows: [],
    rejected: [],
    rejectedCount: 0,
    implausibleCount: 0,
    repeated: [],
    seen: [],
    unidentified: 0,
  };
  return resource.derived.map((table) => ({ table, ...none }));
}

/** Marks the rows as incomplete, so that no row is deleted because the page lacks it. */
export function inconclusive(tables: readonly TableRows[]): readonly TableRows[] {
  return tables.map((rows) => ({ ...rows, unidentified: rows.unidentified + 1 }));
}

// Numbers over a range do not contain their days; the echoed range does. Upstream may move the start to the brand's
// first day, but not earlier, and must echo the requested end.
function checkEcho(resource: Resource, { query }: PageScope, body: unknown): void {
  if (!isRecord(body)) return;
  for (const name of resource.echoes ?? []) {
    const [asked, echoed] = [query[name], body[name]];
    if (asked === undefined || echoed === undefined || echoed === null) continue;
    const day = typeof echoed === 'string' ? (toDay(echoed) ?? echoed) : echoed;
    if (day === asked || (name === 'from' && typeof day === 'string' && day > asked && day <= (query['to'] ?? '')))
      continue;
    throw new BodyError(`it is for ${name}=${JSON.stringify(echoed)}, not for ${name}=${asked}`);
  }
}

// Rejects a detail of another row.
function aboutMember({ member }: PageScope, tables: readonly TableRows[]): readonly TableRows[] {
  if (member === null) return tables;
  for (const { table, seen } of tables) {
    const id = columnOf(table.declaration.fields, table.declaration.key[0] as string);
    const other = seen.find((key) => key[id] !== member);
    if (other !== undefined) throw new BodyError(`it is about ${String(other[id])}, not about ${member}`);
  }
  return tables;
}

// The last page has a null `nextCursor`. A full page without the field may not be the last one.
function mayGoOn({ query }: PageScope, body: unknown, tables: readonly TableRows[]): boolean {
  if (isRecord(body) && 'nextCursor' in body) return false;
  return tables.some(({ seen }) => seen.length >= Number(query['limit'] ?? Number.POSITIVE_INFINITY));
}
