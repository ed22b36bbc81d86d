import { nextCursorOf, pageRequest } from '../contract/paging.ts';
import type { Attempt, Request } from '../contract/request.ts';
import type { Pages } from '../contract/resource.ts';
import type { Answer, Client, ResponseText } from './client.ts';
import { UpstreamError } from './errors.ts';

/** Maximum pages of one slice: a million items at 100 per page. A longer list has an endless cursor. */
export const PAGES_MAX = 10_000;

/** A page and the cursor of the next one. */
export interface Page<T> {
  readonly value: T;
  /** Date header in epoch milliseconds; null if missing or malformed. */
  readonly date: number | null;
  readonly request: Request;
  /** Cursor with which this page was requested; null for the first page. */
  readonly state: string | null;
  /** Cursor of the next page; null on the last page. */
  readonly next: string | null;
}

/** Parameters for reading the pages of one list. */
export interface Walk<T> {
  /** Request of the first page. */
  readonly request: Request;
  readonly pages: Pages | null;
  readonly read: (body: unknown, text: ResponseText) => T;
  /** Cursor of the first page to read; null for the start of the list. */
  readonly from: string | null;
  readonly signal: AbortSignal;
  /** Called before the request of each page; an error ends the walk. */
  readonly beforePage?: () => void;
  readonly onAttempt: (attempt: Attempt) => void;
}

/**
 * Yields all pages of a list.
 * @throws UpstreamError `bad_answer` if upstream repeats a cursor or the list has more than PAGES_MAX pages
 */
export async function* walkPages<T>(client: Client, walk: Walk<T>): AsyncGenerator<Page<T>, void> {
  const { request: first, pages, read, signal, beforePage, onAttempt } = walk;
  const seen = new Set<string>();
  let state = walk.from;
  for (let page = 1; page <= PAGES_MAX; page++) {
    beforePage?.();
    if (state !== null) seen.add(state);
    const request = pageRequest(pages, first, state);
    const readPage = (body: unknown, text: ResponseText): { value: T; next: string | null } => ({
      value: read(body, text),
      next: nextCursorOf(body, pages),
    });
    const answer: Answer<{ value: T; next: string | null }> = await client.get(request, readPage, {
      signal,
      onAttempt,
    });
    const { value, next } = answer.value;
    if (next !== null && seen.has(next)) {
      throw new UpstreamError(
        'bad_answer',
        `upstream's cursor for ${first.path} does not advance: upstream sent it before`,
        { status: 200 },
      );
    }
    yield { value, date: answer.date, request, state, next };
    if (next === null) return;
    state = next;
  }
  throw new UpstreamError('bad_answer', `upstream's list ${first.path} does not end after ${PAGES_MAX} pages`, {
    status: 200,
  });
}
