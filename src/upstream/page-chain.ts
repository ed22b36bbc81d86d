import type { Attempt, Request } from '../contract/request.ts';
import type { Answer, BodyText, Client } from './client.ts';
import { UpstreamError } from './errors.ts';

/** Maximum pages of one slice: a million items at 100 per page. A longer list has an endless cursor. */
export const PAGES_MAX = 10_000;

/** A page and the cursor of the next page. */
export interface Page<T> {
  readonly value: T;
  /** Date header in epoch milliseconds; null if missing or malformed. */
  readonly date: number | null;
  /** Cursor with which this page was requested; null for the first page. */
  readonly cursor: string | null;
  /** Cursor of the next page; null on the last page. */
  readonly next: string | null;
}

/** Parameters for reading the pages of one list. */
export interface Walk<T> {
  /** Request that is repeated for every page, plus the cursor. */
  readonly request: Request;
  readonly read: (body: unknown, text: BodyText) => T;
  readonly nextOf: (body: unknown) => string | null;
  /** Cursor of the first page to read; null for the start of the list. */
  readonly from: string | null;
  readonly signal: AbortSignal;
  readonly onAttempt: (attempt: Attempt) => void;
}

/**
 * Yields all pages of a list.
 * @throws UpstreamError `bad_answer` if upstream repeats a cursor or the list has more than PAGES_MAX pages
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
        `upstream's cursor for ${request.path} does not advance: upstream sent it before`,
        { status: 200 },
      );
    }
    yield { value, date: answer.date, cursor, next };
    if (next === null) return;
    cursor = next;
  }
  throw new UpstreamError('bad_answer', `upstream's list ${request.path} does not end after ${PAGES_MAX} pages`, {
    status: 200,
  });
}
