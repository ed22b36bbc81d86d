import { listOrderOf } from '../analytics/calibration/conventions.ts';
import { readReportedBrand } from '../analytics/numbers/brand.ts';
import { computeReport } from '../analytics/numbers/reports.ts';
import { SightlineError } from '../base/errors.ts';
import { isRecord, parseExactJson, toExactJson, withMember } from '../base/json.ts';
import type { Catalogue, Resource } from '../contract/catalogue.ts';
import type { Fields } from '../contract/fields.ts';
import { FORMS, servedListName, tableListOf } from '../contract/formats.ts';
import type { Query as CheckedQuery } from '../contract/query-parameters.ts';
import type { ResourceTable } from '../contract/tables.ts';
import type { Query } from '../warehouse/database.ts';
import type { CachedPage, Place } from './cached-items.ts';
import { cachedPage, findCachedPage } from './cached-pages.ts';
import type { Position } from './cursor-signer.ts';
import type { ServedReplica } from './open-replica.ts';
import { writeReport } from './report-forms.ts';
import { toRowSet } from './row-set.ts';
import type { Answer, ListPage, RowSet } from './service.ts';
import { hasParent, readStored, readUndeclared, type StoredItems } from './stored-items.ts';
import type { StoredRequest } from './stored-request.ts';

/** Name of the list in the bodies of paged and tabular responses. */
const LIST = 'data';

/** A validated request and the open replica that serves it. */
export interface AnswerRequest {
  readonly catalogue: Catalogue;
  readonly replica: ServedReplica;
  readonly resource: Resource;
  readonly brandId: string | null;
  readonly member: string | null;
  /** Path parameters from the row of another list; default: none. */
  readonly parent?: Readonly<Record<string, string>>;
  readonly asked: CheckedQuery;
  readonly after: Position | null;
  readonly nowMs: number;
}

/** Writes the cursor for the items after a place. */
export type CursorAfter = (last: Place) => string;

/** Computes a response. */
export async function computeAnswer(query: Query, request: AnswerRequest, cursorAfter: CursorAfter): Promise<Answer> {
  const { resource } = request;
  if (resource.computes !== undefined) return computedAnswer(query, request, resource.computes);
  const stored = { ...storedRequestOf(request), query };
  const page = await findCachedPage(stored, request.replica);
  const written = page === null ? null : writtenAnswer(request, page, cursorAfter);
  if (written !== null) return written;
  const tables = await readStored(stored);
  const [parameter, id] = Object.entries(request.parent ?? {}).at(-1) ?? [];
  const isEmpty = tables.every(({ items }) => items.length === 0);
  if (parameter !== undefined && id !== undefined && isEmpty && !(await hasParent(stored)))
    throw notFound(parameter, id);
  const [last] = tables.flatMap((table) => table.last ?? []);
  const nextCursor = last === undefined ? null : cursorAfter(last);
  return {
    body: storedBody(request, tables, nextCursor),
    nextCursor,
    get list() {
      return listOf(resource, tables);
    },
  };
}

/** Text in place of the items of a body, as in JSON. */
const ITEMS = '\u0000items';
const WRITTEN_ITEMS = JSON.stringify(ITEMS);

/** Returns a response from cached items; null if it must be computed. */
export async function cachedAnswer(request: AnswerRequest, cursorAfter: CursorAfter): Promise<Answer | null> {
  const page = await cachedPage(storedRequestOf(request), request.replica);
  return page === null ? null : writtenAnswer(request, page, cursorAfter);
}

// Returns null if the body contains the placeholder twice, so that the position of the items is unknown.
function writtenAnswer(
  request: AnswerRequest,
  { pieces: items, last }: CachedPage,
  cursorAfter: CursorAfter,
): Answer | null {
  const [table] = request.resource.derived as [ResourceTable];
  const nextCursor = last === null ? null : cursorAfter(last);
  const frame = toExactJson(storedBody(request, [{ table, items: [ITEMS], last }], nextCursor));
  const [head, tail, ...others] = frame.split(WRITTEN_ITEMS);
  if (head === undefined || tail === undefined || others.length > 0) return null;
  const pieces = [Buffer.from(head), ...items, Buffer.from(tail)];
  return {
    pieces,
    nextCursor,
    get body() {
      return parseExactJson(Buffer.concat(pieces).toString());
    },
    get list() {
      return listOf(request.resource, [
        { table, items: parseExactJson(`[${Buffer.concat(items)}]`) as unknown[], last },
      ]);
    },
  };
}

async function computedAnswer(
  query: Query,
  { catalogue, replica, resource, brandId, asked, nowMs }: AnswerRequest,
  computes: NonNullable<Resource['computes']>,
): Promise<Answer> {
  const id = brandId as string;
  const { conventions } = replica;
  const writers = replica.writersOf(resource);
  const lists = replica.rowCache.through(query);
  const brand = await readReportedBrand(lists, catalogue, id, replica.brands.get(id)?.since ?? null, conventions);
  const { mayRepeat } = replica;
  const given = { catalogue, query, lists, conventions, brand, resource, asked, nowMs, mayRepeat, writers };
  const counts = replica.counts.of(id);
  const computed = await computeReport(computes, counts === undefined ? given : { ...given, counts });
  const report = writeReport(resource, computed, writers);
  const table = resource.derived.find(({ declaration: { at } }) => at !== 'body' && at.list === LIST);
  return {
    body: { ...besideValues(replica, resource, asked), ...report.beside, [LIST]: report.rows },
    nextCursor: null,
    get list() {
      return { items: report.rows, rows: toRowSet(table?.declaration.fields ?? {}, report.rows) };
    },
  };
}

/** Items that one page of a complete list reads: about 30 ms of work on the event loop. */
const SCAN_ROWS = 1_000;

/** Reads a paged list completely, as `CompleteList.pages` describes. */
export async function* scanList(
  request: AnswerRequest,
  signal: AbortSignal,
): AsyncGenerator<ListPage, void, undefined> {
  const { replica } = request.replica;
  const release = replica.hold();
  try {
    const { from, to, values } = request.asked;
    const asked = { ...request.asked, values: { ...values, limit: SCAN_ROWS } };
    const stored = storedRequestOf({ ...request, asked });
    const [table] = request.resource.derived as [ResourceTable];
    const undeclared = await replica.work((query) => readUndeclared({ ...stored, query }, table), signal);
    let after = request.after;
    do {
      const { items, last } = await replica.work(
        async (_query, _read, prepared) => (await readStored({ ...stored, query: prepared, after }))[0] as StoredItems,
        signal,
        'continued',
      );
      yield { items, rows: toRowSet(table.declaration.fields, items, undeclared) };
      after = last === null ? null : { ...last, from, to };
    } while (after !== null);
  } finally {
    release();
  }
}

function storedRequestOf(request: AnswerRequest): Omit<StoredRequest, 'query'> {
  const { writersOf, allowedBrands, conventions, rowCache } = request.replica;
  const keepsDeleted = conventions.deletedPrompts === 'stay';
  const order = listOrderOf(request.resource.name, conventions);
  return { ...request, order, writers: writersOf(request.resource), allowedBrands, rowCache, keepsDeleted };
}

function storedBody(request: AnswerRequest, tables: readonly StoredItems[], nextCursor: string | null): unknown {
  const { resource, replica } = request;
  const [first] = tables;
  if (first !== undefined && first.table.declaration.at === 'body') {
    if (first.items.length === 0) throw nothingStored(request);
    return replica.isBare(resource) ? first.items[0] : { [LIST]: first.items[0] };
  }
  if (replica.isBare(resource)) return first?.items ?? [];
  let body: Record<string, unknown> = besideValues(replica, resource, request.asked);
  for (const { table, items } of tables) {
    const { at } = table.declaration;
    if (at === 'body') continue;
    const name = servedListName(resource, at.list, replica.shapes.get(resource.name, FORMS.envelope));
    body = withMember(body, name, items);
  }
  if (resource.paging === 'cursor') body['nextCursor'] = nextCursor;
  if (resource.pages !== undefined) body = withMember(body, resource.pages.next, nextCursor);
  return body;
}

// Undeclared members that upstream sends beside its lists.
function besideValues(replica: ServedReplica, resource: Resource, { values, from, to }: CheckedQuery) {
  const given: Record<string, unknown> = { ...values, from, to };
  return Object.fromEntries(
    replica
      .besideOf(resource)
      .map((member) => [member.name, 'text' in member ? member.text : (given[member.name] ?? null)]),
  );
}

function nothingStored({ resource, member }: AnswerRequest): SightlineError {
  if (resource.change.kind === 'detail') return notFound(resource.change.parameter, member ?? '');
  return new SightlineError('no_data', 'this resource is not synced yet; run `sightline sync`');
}

function listOf(resource: Resource, tables: readonly StoredItems[]): ListPage | null {
  const name = tableListOf(resource);
  const list = tables.find(({ table: { declaration } }) => declaration.at !== 'body' && declaration.at.list === name);
  if (list === undefined) return null;
  return {
    items: list.items,
    rows: resource.generic === true ? typedRows(list) : toRowSet(flatFields(list), list.items),
  };
}

// Items of inferred endpoints have the types of their columns, and further members as JSON.
function typedRows({ table: { declaration }, items }: StoredItems): RowSet {
  const { derive, whole = '' } = declaration;
  const { [whole]: _, ...fields } = declaration.fields;
  const known = new Set(Object.keys(fields).map((field) => field.split('.')[0]));
  const members = items.map((item) => {
    const others = Object.entries(isRecord(item) ? item : {}).filter(([name]) => !known.has(name));
    return { ...Object.fromEntries(others), ...derive?.(item) };
  });
  return toRowSet(fields, members);
}

// Items of `whole` tables are served as received, so their fields come from the items; declared fields are used if
// there are none.
function flatFields({ table: { declaration }, items }: StoredItems): Fields {
  const { whole, fields } = declaration;
  if (whole === undefined) return fields;
  const known = Object.entries(fields).filter(([name]) => name !== whole);
  return items.length === 0 ? Object.fromEntries(known) : {};
}

/** Returns the `not_found` error for an unknown id; `parameter` is the path parameter, such as `brandId`. */
export function notFound(parameter: string, id: string): SightlineError {
  const shown = id.length > 80 ? `${id.slice(0, 80)}…` : id;
  return new SightlineError('not_found', `the ${parameter.replace(/Id$/, '')} ${shown} does not exist`, { parameter });
}
