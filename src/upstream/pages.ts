import type { Attempt, Request } from '../contract/request.ts';
import type { Answer, BodyText, Client } from './client.ts';
import { UpstreamError } from './errors.ts';

/** More pages than this in one walk mean that upstream never ends it: a million items at 100 a page. */
export const PAGES_MAX = 10_000;

/** A page as it was read, and the cursor of the one after it. */
export interface Page<T> {
  readonly value: T;
  /** Date header, epoch milliseconds; null without a well-formed one. */
  readonly date: number | null;
  /** Cursor that this page was asked with; null for the first. */
  readonly cursor: string | null;
  readonly next: string | null;
}

/** How to walk the pages of one list. */
export interface Walk<T> {
  /** Sent unchanged with every page. */
  readonly request: Request;
  readonly read: (body: unknown, text: BodyText) => T;
  readonly nextOf: (body: unknown) => string | null;
  /** Where to begin: null, or the cursor of the page to ask for next, with the cursors that led to it. */
  readonly from: string | null;
  readonly signal: AbortSignal;
  readonly onAttempt: (attempt: Attempt) => void;
}

/**
 * Yields page after page until the last. Throws an UpstreamError when a cursor comes back that was there before or
 * when there is no end to them.
 */
export async function* walkPages<T>(client: Client, walk: Walk<T>): AsyncGenerator<Page<T>, void> {
  const { request, read, nextOf, signal, onAttempt } = walk;
  const seen = new Set<string>();
  let cursor = walk.from;
  for (let page = 1; page <= PAGES_MAX; page++) {
    if (cursor !== null) seen.add(cursor);
    const query = cursor === null ? request.query : { ...request.query, cursor };
    const readPage = (body: unknown, text: BodyText): { value: T; next: string | null } => ({
      value: read(body, text),
      next: nextOf(body),
    });
    const answer: Answer<{ value: T; next: string | null }> = await client.get({ ...request, query }, readPage, {
      signal,
      onAttempt,
    });
    const { value, next } = answer.value;
    if (next !== null && seen.has(next)) {
      throw new UpstreamError(
        'bad_answer',
        `upstream's cursor for ${request.path} does not move on: it was there before`,
        { status: 200 },
      );
    }
    yield { value, date: answer.date, cursor, next };
    if (next === null) return;
    cursor = next;
  }
  throw new UpstreamError('bad_answer', `upstream's list ${request.path} has no end (${PAGES_MAX} pages)`, {
    status: 200,
  });
}
