import { ExactNumber, memberAt } from '../base/json.ts';
import { BodyError } from './body.ts';
import type { Request } from './request.ts';
import type { Pages, ResourceDeclaration } from './resource.ts';

/** Maximum length of a cursor in characters. It becomes part of a request, which servers limit to about 16 kB. */
const CURSOR_CHARACTERS_MAX = 4_096;

/** Returns how upstream splits the list into pages; null if it sends one page. */
export function pagesOf({ pages, paging }: Pick<ResourceDeclaration, 'pages' | 'paging'>): Pages | null {
  return pages ?? (paging === 'cursor' ? { parameter: 'cursor', next: 'nextCursor' } : null);
}

/** Returns the query parameter for the size of pages. */
export function sizeQuery({ pages, query }: Pick<ResourceDeclaration, 'pages' | 'query'>): Record<string, string> {
  const limit = query['limit']?.max;
  if (pages !== undefined) return pages.size === undefined ? {} : { [pages.size.parameter]: String(pages.size.max) };
  return limit === undefined ? {} : { limit: String(limit) };
}

/** Returns the request of the page with this cursor; null is the cursor of the first page. */
export function pageRequest(pages: Pages | null, request: Request, cursor: string | null): Request {
  if (pages === null || cursor === null) return request;
  return { ...request, query: { ...request.query, [pages.parameter]: cursor } };
}

/**
 * Returns the cursor of the next page, or null on the last page.
 * @throws BodyError if the cursor is too long or not a string, number or null
 */
export function nextCursorOf(body: unknown, pages: Pages | null): string | null {
  if (pages === null) return null;
  const { next: name } = pages;
  const cursor = memberAt(body, name);
  if (cursor === undefined || cursor === null || cursor === '') return null;
  if (typeof cursor === 'number') return String(cursor);
  if (cursor instanceof ExactNumber) return cursor.text;
  if (typeof cursor !== 'string')
    throw new BodyError(`${name} is ${Array.isArray(cursor) ? 'an array' : typeof cursor}; allowed: a string or null`);
  if (cursor.length <= CURSOR_CHARACTERS_MAX) return cursor;
  throw new BodyError(`${name} has ${cursor.length} characters; allowed: up to ${CURSOR_CHARACTERS_MAX}`);
}
