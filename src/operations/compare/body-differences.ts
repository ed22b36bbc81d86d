import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import { isSame } from '../../metrics/calibration/candidates.ts';

/** A difference between two bodies. */
export const bodyDifference = z.object({
  field: z.string().describe('path of the field, with `[]` for every index of a list'),
  kind: z.enum(['value', 'order', 'missing row', 'extra row', 'missing field', 'extra field']),
  upstream: z.unknown().describe('null for an extra row or field'),
  own: z.unknown().describe('null for a missing row or field'),
});

/** A difference between two bodies. */
export type BodyDifference = ValueOf<typeof bodyDifference>;

/** Fields that identify a row of a list, in order of preference. */
const IDENTITIES = ['id', 'promptId', 'groupId', 'url', 'domain', 'date', 'competitorId', 'slug'];
/** Fields that differ by design, except that both have a value or neither does. */
const OPAQUE = ['nextCursor', 'requestId'];

/** A status, and a body if it is 200. */
interface Response {
  readonly status: number;
  readonly body: unknown;
}

/** Compares the response of upstream with our own. Cursors and request ids may have other values. */
export function differencesOfResponses(upstream: Response, own: Response): BodyDifference[] {
  if (upstream.status !== own.status) return compare(upstream.status, own.status, 'status');
  return upstream.status === 200 ? compare(upstream.body, own.body, '') : [];
}

function compare(theirs: unknown, ours: unknown, field: string): BodyDifference[] {
  if (Array.isArray(theirs) && Array.isArray(ours)) return compareLists(theirs, ours, field);
  if (isRecord(theirs) && isRecord(ours)) return compareRecords(theirs, ours, field);
  // Unrounded sums depend on the order of their terms.
  const areAlike =
    typeof theirs === 'number' && typeof ours === 'number' ? isSame(theirs, ours) : Object.is(theirs, ours);
  return areAlike ? [] : [{ field, kind: 'value', upstream: theirs, own: ours }];
}

function compareRecords(
  theirs: Record<string, unknown>,
  ours: Record<string, unknown>,
  field: string,
): BodyDifference[] {
  const names = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])];
  return names.flatMap((name): BodyDifference[] => {
    const path = field === '' ? name : `${field}.${name}`;
    const [upstream, own] = [theirs[name], ours[name]];
    if (!Object.hasOwn(ours, name)) return [{ field: path, kind: 'missing field', upstream, own: null }];
    if (!Object.hasOwn(theirs, name)) return [{ field: path, kind: 'extra field', upstream: null, own }];
    if (OPAQUE.includes(name) && isGiven(upstream) === isGiven(own)) return [];
    return compare(upstream, own, path);
  });
}

function isGiven(value: unknown): boolean {
  return value !== null && value !== undefined;
}

// Rows are matched by their identity, so that one missing row is one difference.
function compareLists(theirs: readonly unknown[], ours: readonly unknown[], field: string): BodyDifference[] {
  const path = `${field}[]`;
  const [a, b] = [identified(theirs), identified(ours)];
  if (a === null || b === null) return compareByIndex(theirs, ours, path);
  const absent = [...a.keys()].filter((key) => !b.has(key));
  const added = [...b.keys()].filter((key) => !a.has(key));
  const renamed = pairRenamed(absent, added);
  const missing = absent
    .filter((key) => !renamed.has(key))
    .map((key): BodyDifference => ({ field: path, kind: 'missing row', upstream: a.get(key), own: null }));
  const paired = new Set(renamed.values());
  const extra = added
    .filter((key) => !paired.has(key))
    .map((key): BodyDifference => ({ field: path, kind: 'extra row', upstream: null, own: b.get(key) }));
  const shared = [...a.keys()].filter((key) => b.has(key));
  const order = [...b.keys()].filter((key) => a.has(key));
  const place = shared.findIndex((key, index) => order[index] !== key);
  const moved: BodyDifference[] =
    place < 0
      ? []
      : [{ field: path, kind: 'order', upstream: a.get(shared[place] as string), own: b.get(order[place] as string) }];
  const pairs = [...renamed, ...shared.map((key) => [key, key] as const)];
  return [...missing, ...extra, ...moved, ...pairs.flatMap(([x, y]) => compare(a.get(x), b.get(y), path))];
}

/** Pairs the identities of a day that differ in one field only, such as the engine: that field differs, and no row is missing. */
function pairRenamed(absent: readonly string[], added: readonly string[]): Map<string, string> {
  const free = new Set(added);
  const pairs = new Map<string, string>();
  for (const key of absent) {
    const [day, ...rest]: unknown[] = JSON.parse(key);
    const partner = [...free].find((candidate) => {
      const [otherDay, ...others]: unknown[] = JSON.parse(candidate);
      return rest.length > 0 && day === otherDay && rest.filter((part, index) => part !== others[index]).length === 1;
    });
    if (partner === undefined) continue;
    free.delete(partner);
    pairs.set(key, partner);
  }
  return pairs;
}

function compareByIndex(theirs: readonly unknown[], ours: readonly unknown[], path: string): BodyDifference[] {
  const length = Math.max(theirs.length, ours.length);
  return Array.from({ length }, (_, index): BodyDifference[] => {
    if (index >= ours.length) return [{ field: path, kind: 'missing row', upstream: theirs[index], own: null }];
    if (index >= theirs.length) return [{ field: path, kind: 'extra row', upstream: null, own: ours[index] }];
    return compare(theirs[index], ours[index], path);
  }).flat();
}

// Rows by all identifying fields that they have; null if two rows have the same, or a row has none.
function identified(rows: readonly unknown[]): Map<string, unknown> | null {
  const found = new Map<string, unknown>();
  for (const row of rows) {
    if (!isRecord(row)) return null;
    const present = IDENTITIES.filter((name) => Object.hasOwn(row, name));
    const names = present.includes('date')
      ? ['date', 'engine', 'source', 'entityType', 'competitorId']
      : present.slice(0, 1);
    if (names.length === 0) return null;
    const key = JSON.stringify(
      names.map((name) => (typeof row[name] === 'string' ? row[name].toLowerCase() : (row[name] ?? null))),
    );
    if (found.has(key)) return null;
    found.set(key, row);
  }
  return found;
}
