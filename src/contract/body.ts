import { ExactNumber, isRecord } from '../base/json.ts';
import type { Resource } from './catalogue.ts';
import type { ResourceTable } from './tables.ts';

/** A body that is JSON but not what the endpoint promises. The request it answers may be repeated. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
  /** Whether the same request may be answered otherwise. */
  readonly retryable: boolean = true;
}

/** A body beyond what any page may have: it is not worth another attempt. */
export class PageBoundError extends BodyError {
  override readonly retryable = false;
}

/** Longest cursor that is taken, in characters: it is sent back in an address, which servers bound to about 16 kB. */
const CURSOR_CHARACTERS_MAX = 4_096;

/**
 * The items of one table in a body: a list under its name or under `data`, or the body itself as the only item; null
 * where upstream has nothing to report and sends null for the list. Throws a BodyError when the body has no such rows.
 */
export function itemsOf(resource: Resource, table: ResourceTable, body: unknown): readonly unknown[] | null {
  const { at } = table.declaration;
  if (at === 'body') return [objectOf(resource, table, body)];
  if (Array.isArray(body) && at.list === 'data') return body;
  const holder = isRecord(body) && !(at.list in body) && isRecord(body['data']) ? body['data'] : body;
  const list = isRecord(holder) ? holder[at.list] : undefined;
  if ((list ?? null) === null && hasNothingToReport(resource, holder, list)) return null;
  if (!Array.isArray(list)) throw new BodyError(`the body has no list ${at.list}`);
  return list;
}

// A report without rows may say so by null, or by leaving its list out where its other fields are there.
function hasNothingToReport(resource: Resource, body: unknown, list: unknown): boolean {
  if (resource.change.kind !== 'report') return false;
  const beside = resource.derived.filter(({ declaration: { at } }) => at === 'body');
  const fields = beside.flatMap(({ declaration }) => Object.keys(declaration.fields));
  return list === null || (isRecord(body) && fields.some((field) => field in body));
}

/** The cursor of the next page, or null on the last; throws a BodyError when it is no cursor. */
export function nextCursorOf(body: unknown): string | null {
  const cursor = isRecord(body) ? (body['nextCursor'] ?? null) : null;
  if (cursor === null || cursor === '') return null;
  if (typeof cursor === 'string') {
    if (cursor.length <= CURSOR_CHARACTERS_MAX) return cursor;
    throw new BodyError(`nextCursor has ${cursor.length} characters; allowed: ${CURSOR_CHARACTERS_MAX}`);
  }
  if (typeof cursor === 'number') return String(cursor);
  if (cursor instanceof ExactNumber) return cursor.text;
  throw new BodyError(`nextCursor is ${Array.isArray(cursor) ? 'an array' : typeof cursor}, not a string or null`);
}

/** Top-level names of a body that belong to the answer's frame and not to an object in it. */
export function frameOf(resource: Resource): Set<string> {
  const lists = resource.derived.flatMap(({ declaration: { at } }) => (at === 'body' ? [] : [at.list]));
  return new Set([...lists, ...Object.keys(resource.query), 'nextCursor']);
}

function objectOf(resource: Resource, table: ResourceTable, body: unknown): unknown {
  const { fields, normalize } = table.declaration;
  if (normalize !== undefined) {
    const empty = body === null || (isRecord(body) && (Object.keys(body).length === 0 || 'error' in body));
    if (empty) throw new BodyError('the body holds nothing');
    return body;
  }
  const known = Object.keys(fields);
  const holds = (value: unknown): value is Record<string, unknown> =>
    isRecord(value) && known.some((field) => field in value);
  if (holds(body)) return body;
  if (isRecord(body) && holds(body['data'])) return body['data'];
  throw new BodyError(`the body has none of the fields of ${resource.name}`);
}
