import { expect } from 'vitest';
import { isRecord } from '../../src/base/json.ts';
import type { Mirror, Reply } from './mirror.ts';

/** Unrounded numbers may differ in their last digits, depending on the order of additions. */
const RELATIVE_ERROR = 1e-9;

/** Whether a response is computed. Undeclared fields cannot be computed, so computed numbers come without them. */
export function isComputed({ catalogue }: Mirror, path: string): boolean {
  const [pathname = ''] = path.split('?');
  const segments = pathname.split('/');
  const resource = catalogue.resources.find(
    (candidate) =>
      candidate.path.split('/').length === segments.length &&
      candidate.path.split('/').every((part, index) => part.startsWith('{') || part === segments[index]),
  );
  return resource?.computes !== undefined && resource.computes !== 'visits';
}

/** Requires equal responses, apart from cursors and request ids. */
export function expectAlike(path: string, upstream: Reply, own: Reply, computed: boolean): void {
  const [theirs, ours] = [comparable(upstream, computed), comparable(own, computed)];
  const differences = differencesOf(theirs, ours, '');
  expect(differences.slice(0, 5), path).toEqual([]);
}

// Cursors and request ids differ between the two sides.
function comparable({ status, body }: Reply, computed: boolean): unknown {
  const copy = structuredClone(body);
  if (computed && isRecord(copy) && Array.isArray(copy['data'])) {
    for (const row of copy['data'].filter(isRecord)) {
      delete row['zz_added'];
      delete row['zz_flag'];
    }
  }
  if (isRecord(copy) && isRecord(copy['error'])) delete copy['error']['requestId'];
  if (isRecord(copy) && typeof copy['nextCursor'] === 'string') copy['nextCursor'] = 'a cursor';
  return { status, body: copy };
}

function differencesOf(theirs: unknown, ours: unknown, at: string): string[] {
  if (typeof theirs === 'number' && typeof ours === 'number') {
    const isClose = Math.abs(theirs - ours) <= RELATIVE_ERROR * Math.max(1, Math.abs(theirs));
    return isClose ? [] : [`${at}: ${theirs} ≠ ${ours}`];
  }
  if (Array.isArray(theirs) && Array.isArray(ours)) {
    if (theirs.length !== ours.length) return [`${at}: ${theirs.length} items ≠ ${ours.length}`];
    return theirs.flatMap((item, index) => differencesOf(item, ours[index], `${at}[${index}]`));
  }
  if (isRecord(theirs) && isRecord(ours)) {
    const names = new Set([...Object.keys(theirs), ...Object.keys(ours)]);
    return [...names].flatMap((name) => differencesOf(theirs[name], ours[name], `${at}.${name}`));
  }
  return theirs === ours ? [] : [`${at}: ${JSON.stringify(theirs)} ≠ ${JSON.stringify(ours)}`];
}

/** Returns the list in a body. */
export function rowsOf(body: unknown): unknown {
  return isRecord(body) && Array.isArray(body['data']) ? body['data'] : body;
}

/** Whether a body has anything beside an empty list. */
export function hasRows(body: unknown): boolean {
  const list = rowsOf(body);
  return Array.isArray(list) ? list.length > 0 : isRecord(list) && Object.keys(list).length > 1;
}
