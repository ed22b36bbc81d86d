import { expect } from 'vitest';
import { isRecord } from '../../src/base/json.ts';
import { type Difference, differencesOf } from '../support/difference.ts';
import type { Mirror, Reply } from './mirror.ts';

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

/** Returns the differences of two responses, apart from cursors and request ids. */
export function compareReplies(upstream: Reply, own: Reply, computed: boolean): Difference[] {
  return differencesOf(comparable(upstream, computed), comparable(own, computed));
}

/** Requires equal responses. */
export function expectAlike(path: string, upstream: Reply, own: Reply, computed: boolean): void {
  expect(compareReplies(upstream, own, computed).slice(0, 5), path).toEqual([]);
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
  return { status, body: copy };
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
