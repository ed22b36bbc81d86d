import { randomUUID } from 'node:crypto';
import { SightlineError } from '../base/errors.ts';
import { isRecord, parseExactJson, toExactJson, withMember } from '../base/json.ts';
import type { BesideMember } from '../contract/beside-list.ts';
import type { Catalogue, Resource } from '../contract/catalogue.ts';
import type { Fields } from '../contract/fields.ts';
import { FORMS, servedListName, tableListOf } from '../contract/formats.ts';
import type { Query as CheckedQuery } from '../contract/query-parameters.ts';
import type { TableDeclaration } from '../contract/resource.ts';
import type { ResourceTable } from '../contract/tables.ts';
import { listOrderOf } from '../metrics/calibration/conventions.ts';
import { readReportedBrand } from '../metrics/numbers/brand.ts';
import { computeReport } from '../metrics/numbers/reports.ts';
import type { Query } from '../warehouse/database.ts';
import type { Position } from './cursor-signer.ts';
import type { ServedReplica } from './open-replica.ts';
import { writeReport } from './report-forms.ts';
import { toRowSet } from './row-set.ts';
import type { Answer, ListPage, RowSet } from './service.ts';
import { hasParent, type Place, readStored, readUndeclared, type StoredItems } from './stored-items.ts';
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
  const tables = await readStored(stored);
  const [parameter, id] = Object.entries(request.parent ?? {}).at(-1) ?? [];
  const isEmpty = tables.every(({ texts }) => texts.length === 0);
  if (parameter !== undefined && id !== undefined && isEmpty && !(await hasParent(stored)))
    throw notFound(parameter, id);
  const [last] = tables.flatMap((table) => table.last ?? []);
  const nextCursor = last === undefined ? null : cursorAfter(last);
  const json = writeBody(storedBody(request, tables, nextCursor), tables);
  return {
    json,
    nextCursor,
    get body() {
      return parseExactJson(json);
    },
    get list() {
      return listOf(resource, tables);
    },
  };
}

/** Marks the place of an item in a body: the table and the item by their numbers. */
const PLACE = randomUUID();
const WRITTEN_PLACE = new RegExp(`"${PLACE} (\\d+) (\\d+)"`, 'g');

// Writes a body with the items at their places.
function writeBody(body: unknown, tables: readonly StoredItems[]): string {
  return toExactJson(body).replace(
    WRITTEN_PLACE,
    (_place, table: string, item: string) => tables[Number(table)]?.texts[Number(item)] ?? 'null',
  );
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
    body: { ...besideValues(replica, resource, asked, report.rows.length), ...report.beside, [LIST]: report.rows },
    nextCursor: null,
    get list() {
      return { texts: report.rows.map(toExactJson), rows: toRowSet(table?.declaration.fields ?? {}, report.rows) };
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
      const page = await replica.work(
        async (_query, _read, prepared) => (await readStored({ ...stored, query: prepared, after }))[0] as StoredItems,
        signal,
        'continued',
      );
      yield toListPage(page.texts, (items) => toRowSet(table.declaration.fields, items, undeclared));
      after = page.last === null ? null : { ...page.last, from, to };
    } while (after !== null);
  } finally {
    release();
  }
}

function storedRequestOf(request: AnswerRequest): Omit<StoredRequest, 'query'> {
  const { allowedBrands, conventions, rowCache } = request.replica;
  const keepsDeleted = conventions.deletedPrompts === 'stay';
  const order = listOrderOf(request.resource.name, conventions);
  return { ...request, order, allowedBrands, rowCache, keepsDeleted };
}

function storedBody(request: AnswerRequest, tables: readonly StoredItems[], nextCursor: string | null): unknown {
  const { resource, replica } = request;
  const [first] = tables;
  const placesOf = (table: number): string[] =>
    (tables[table]?.texts ?? []).map((_, item) => `${PLACE} ${table} ${item}`);
  if (first !== undefined && first.table.declaration.at === 'body') {
    const [item] = placesOf(0);
    if (item === undefined) throw nothingStored(request);
    return replica.isBare(resource) ? item : { [LIST]: item };
  }
  if (replica.isBare(resource)) return placesOf(0);
  let body: Record<string, unknown> = besideValues(replica, resource, request.asked, first?.texts.length ?? 0);
  for (const [index, { table }] of tables.entries()) {
    const { at } = table.declaration;
    if (at === 'body') continue;
    const name = servedListName(resource, at.list, replica.shapes.get(resource.name, FORMS.envelope));
    body = withMember(body, name, placesOf(index));
  }
  if (resource.paging === 'cursor') body['nextCursor'] = nextCursor;
  if (resource.pages !== undefined) body = withMember(body, resource.pages.next, nextCursor);
  return body;
}

// Undeclared members that upstream sends beside its lists.
function besideValues(replica: ServedReplica, resource: Resource, asked: CheckedQuery, count: number) {
  const given: Record<string, unknown> = { ...asked.values, from: asked.from, to: asked.to };
  const valueOf = (member: BesideMember): unknown =>
    'text' in member ? member.text : 'counts' in member ? count : (given[member.name] ?? null);
  return Object.fromEntries(replica.besideOf(resource).map((member) => [member.name, valueOf(member)]));
}

function nothingStored({ resource, member }: AnswerRequest): SightlineError {
  if (resource.change.kind === 'detail') return notFound(resource.change.parameter, member ?? '');
  return new SightlineError('no_data', 'this resource is not synced yet; run `sightline sync`');
}

function listOf(resource: Resource, tables: readonly StoredItems[]): ListPage | null {
  const name = tableListOf(resource);
  const list = tables.find(({ table: { declaration } }) => declaration.at !== 'body' && declaration.at.list === name);
  if (list === undefined) return null;
  const { declaration } = list.table;
  return toListPage(list.texts, (items) =>
    resource.generic === true ? typedRows(declaration, items) : toRowSet(flatFields(declaration, items), items),
  );
}

// Parses the items of a list when they are used.
function toListPage(texts: readonly string[], toRows: (items: readonly unknown[]) => RowSet): ListPage {
  return {
    texts,
    get rows() {
      return toRows(texts.map(parseExactJson));
    },
  };
}

// Items of inferred endpoints have the types of their columns, and further members as JSON.
function typedRows(declaration: TableDeclaration, items: readonly unknown[]): RowSet {
  const { derive, whole = '' } = declaration;
  const { [whole]: _, ...fields } = declaration.fields;
  const known = new Set(Object.keys(fields).map((field) => field.split('.')[0]));
  const members = items.map((item) => {
    const others = Object.entries(isRecord(item) ? item : {}).filter(([name]) => !known.has(name));
    return { ...Object.fromEntries(others), ...derive?.(item) };
  });
  return toRowSet(fields, members);
}

// Items of `whole` tables have an unknown form, so their fields come from the items; declared fields are used if there are none.
function flatFields({ whole, fields }: TableDeclaration, items: readonly unknown[]): Fields {
  if (whole === undefined) return fields;
  const known = Object.entries(fields).filter(([name]) => name !== whole);
  return items.length === 0 ? Object.fromEntries(known) : {};
}

/** Returns the `not_found` error for an unknown id; `parameter` is the path parameter, such as `brandId`. */
export function notFound(parameter: string, id: string): SightlineError {
  const shown = id.length > 80 ? `${id.slice(0, 80)}…` : id;
  return new SightlineError('not_found', `the ${parameter.replace(/Id$/, '')} ${shown} does not exist`, { parameter });
}
