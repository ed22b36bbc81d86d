import { isRecord, memberAt } from '../base/json.ts';
import type { Resource } from './catalogue.ts';
import type { ResourceTable } from './tables.ts';

/** A JSON body that does not match the endpoint's contract. The request may be retried unless `retryable` is false. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
  /** True if repeating the request may return a valid body. */
  readonly retryable: boolean = true;
}

/** A body that exceeds the limits of a page. Retrying would return the same body. */
export class PageBoundError extends BodyError {
  override readonly retryable = false;
}

/**
 * Returns the items of one table in a body: the list under its name or under `data`, or the body itself as the only item.
 * Returns null if upstream sends null for the list, or leaves it out of a report, because it has nothing to report.
 * @throws BodyError if the body does not contain the rows
 */
export function itemsOf(resource: Resource, table: ResourceTable, body: unknown): readonly unknown[] | null {
  const { at } = table.declaration;
  if (at === 'body') return [objectOf(resource, table, body)];
  // A 204 is read as an empty array, also for a body with several lists.
  if (Array.isArray(body) && (at.list === 'data' || body.length === 0)) return body;
  if (at.list.includes('.')) {
    const list = memberAt(body, at.list);
    if (!Array.isArray(list)) throw new BodyError(`the body has no list ${at.list}`);
    return list;
  }
  const holder = isRecord(body) && !(at.list in body) && isRecord(body['data']) ? body['data'] : body;
  const list = isRecord(holder) ? (holder[at.list] ?? holder[listNameOf(resource, holder) ?? at.list]) : undefined;
  if ((list ?? null) === null && hasNothingToReport(resource, holder, list)) return null;
  if (!Array.isArray(list)) throw new BodyError(`the body has no list ${at.list}`);
  return list;
}

/** Returns the name of the only array of a body whose envelope the specification does not define; null if there is none. */
export function listNameOf(
  { envelopeUnknown }: Pick<Resource, 'envelopeUnknown'>,
  body: Record<string, unknown>,
): string | null {
  if (envelopeUnknown !== true) return null;
  const names = Object.keys(body).filter((name) => Array.isArray(body[name]));
  return names.length === 1 ? (names[0] as string) : null;
}

// A report without rows has null for its list, or has its other fields but not the list.
function hasNothingToReport(resource: Resource, body: unknown, list: unknown): boolean {
  if (resource.change.kind !== 'report') return false;
  const beside = resource.derived.filter(({ declaration: { at } }) => at === 'body');
  const fields = beside.flatMap(({ declaration }) => Object.keys(declaration.fields));
  return list === null || (isRecord(body) && fields.some((field) => field in body));
}

/** Top-level names of a body that belong to the envelope: lists, echoed parameters and nextCursor. */
export function frameOf(resource: Resource): Set<string> {
  const lists = resource.derived.flatMap(({ declaration: { at } }) => (at === 'body' ? [] : [at.list]));
  return new Set([...lists, ...Object.keys(resource.query), 'nextCursor']);
}

function objectOf(resource: Resource, table: ResourceTable, body: unknown): unknown {
  const { fields, normalize } = table.declaration;
  if (normalize !== undefined) {
    const isEmpty = isRecord(body) && Object.keys(body).length === 0 && resource.generic !== true;
    const empty = body === null || isEmpty || (isRecord(body) && 'error' in body);
    if (empty) throw new BodyError('the body is empty or an error');
    return body;
  }
  const known = Object.keys(fields);
  const holds = (value: unknown): value is Record<string, unknown> =>
    isRecord(value) && known.some((field) => field in value);
  if (holds(body)) return body;
  if (isRecord(body) && holds(body['data'])) return body['data'];
  throw new BodyError(`the body has none of the fields of ${resource.name}`);
}
