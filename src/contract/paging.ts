import { ExactNumber, memberAt } from '../base/json.ts';
import { BodyError, PageBoundError } from './body.ts';
import type { Request } from './request.ts';
import { LINK_HEADER, type Pages, type ResourceDeclaration } from './resource.ts';

/** Maximum length of a cursor or URL in characters. It becomes part of a request, which servers limit to about 16 kB. */
const STATE_CHARACTERS_MAX = 4_096;

/** The properties of a page that determine the next one. */
export interface PageResponse {
  readonly body: unknown;
  /** Header Link, or null. */
  readonly link: string | null;
  /** Base URL of the API, and the path of the page's request below it. */
  readonly baseUrl: string;
  readonly path: string;
  /** State with which the page was requested; null for the first page. */
  readonly state: string | null;
  /** Number of items of the page. */
  readonly items: number;
  /** Items before the page in this list. */
  readonly itemsBefore: number;
}

/** Returns how upstream splits the list into pages; null if it sends one page. */
export function pagesOf({ pages, paging }: Pick<ResourceDeclaration, 'pages' | 'paging'>): Pages | null {
  return pages ?? (paging === 'cursor' ? { kind: 'cursor', parameter: 'cursor', next: 'nextCursor' } : null);
}

/** Whether pages are requested by number or offset, so that a read can miss rows that move between pages. */
export function hasNumberedPages({ pages }: Pick<ResourceDeclaration, 'pages'>): boolean {
  return pages?.kind === 'page' || pages?.kind === 'offset';
}

/** Cursor parameter of the read server for lists that upstream pages with links. */
export const LINK_CURSOR = 'cursor';

/** The part of a complete list that a request selects. */
export interface ListPart {
  /** Number of items before it. */
  readonly skip: number;
  /** Maximum number of items; null for all. */
  readonly take: number | null;
}

/**
 * Returns the part of a complete list that the values of the parameters select. `after` is the number of items before the position of
 * the request's cursor; null without a cursor.
 */
export function partOf(
  { pages, query }: Pick<ResourceDeclaration, 'pages' | 'query'>,
  values: Readonly<Record<string, string | number | boolean | undefined>>,
  after: number | null,
): ListPart {
  const size = Object.entries(query).find(([, { kind }]) => kind === 'limit')?.[0];
  const given = size === undefined ? undefined : values[size];
  const take = typeof given === 'number' ? given : null;
  if (after !== null) return { skip: after, take };
  const number = pages?.kind === 'page' || pages?.kind === 'offset' ? values[pages.parameter] : undefined;
  if (typeof number !== 'number') return { skip: 0, take };
  if (pages?.kind === 'offset') return { skip: number, take };
  const before = number - (pages?.kind === 'page' ? pages.first : 0);
  // Without a size, the first page is the complete list.
  if (take === null) return before === 0 ? { skip: 0, take } : { skip: 0, take: 0 };
  return { skip: before * take, take };
}

/** Returns the members of a body that describe its page, by path. `next` is a cursor, or null on the last page. */
export function pageMembers(
  { pages }: Pick<ResourceDeclaration, 'pages'>,
  { skip, take }: ListPart,
  { total, next }: { readonly total: number; readonly next: string | null },
): [path: string, value: unknown][] {
  switch (pages?.kind) {
    case 'cursor':
    case 'link':
      return pages.next === LINK_HEADER ? [] : [[pages.next, next]];
    case 'page':
    case 'offset': {
      const { more, pages: count, total: all, position, length } = pages;
      const before = take === null || take === 0 ? 0 : Math.floor(skip / take);
      const isLast = take === null || take === 0 || skip + take >= total;
      const members: [string | undefined, unknown][] = [
        [more, !isLast],
        [count, take === null || take === 0 ? 1 : Math.ceil(total / take)],
        [all, total],
        [position, pages.kind === 'offset' ? skip : pages.first + before],
        [length, take ?? total],
      ];
      return members.flatMap(([path, value]) => (path === undefined ? [] : [[path, value]]));
    }
    default:
      return [];
  }
}

/** Returns the query parameter for the size of pages. */
export function sizeQuery({ pages, query }: Pick<ResourceDeclaration, 'pages' | 'query'>): Record<string, string> {
  const limit = query['limit']?.max;
  if (pages !== undefined) return pages.size === undefined ? {} : { [pages.size.parameter]: String(pages.size.max) };
  return limit === undefined ? {} : { limit: String(limit) };
}

/** Returns the request of the page with this state; null is the state of the first page. */
export function pageRequest(pages: Pages | null, request: Request, state: string | null): Request {
  if (pages === null || state === null) return request;
  if (pages.kind !== 'link') return { ...request, query: { ...request.query, [pages.parameter]: state } };
  const url = new URL(state, 'http://upstream.invalid');
  return { ...request, path: url.pathname, query: Object.fromEntries(url.searchParams) };
}

/**
 * Returns the state of the next page, or null after the last page.
 * @throws BodyError if the page names the next one in an invalid form
 * @throws PageBoundError if the next URL is not below the base URL, so that the key would be sent elsewhere
 */
export function nextState(pages: Pages | null, page: PageResponse): string | null {
  switch (pages?.kind) {
    case 'cursor':
      return cursorOf(pages.next, memberAt(page.body, pages.next));
    case 'link':
      return nextUrl(pages.next, page);
    case 'page':
    case 'offset':
      return nextNumber(pages, page);
    default:
      return null;
  }
}

/**
 * Returns the cursor of the next page of this API, or null on the last page.
 * @throws BodyError if nextCursor is too long or not a string, number or null
 */
export function nextCursorOf(body: unknown): string | null {
  return cursorOf('nextCursor', memberAt(body, 'nextCursor'));
}

function cursorOf(name: string, cursor: unknown): string | null {
  if (cursor === undefined || cursor === null || cursor === '') return null;
  if (typeof cursor === 'string') return bounded(name, cursor);
  if (typeof cursor === 'number') return String(cursor);
  if (cursor instanceof ExactNumber) return cursor.text;
  throw new BodyError(`${name} is ${Array.isArray(cursor) ? 'an array' : typeof cursor}; allowed: a string or null`);
}

function bounded(name: string, text: string): string {
  if (text.length <= STATE_CHARACTERS_MAX) return text;
  throw new BodyError(`${name} has ${text.length} characters; allowed: up to ${STATE_CHARACTERS_MAX}`);
}

// Path and query below the base URL.
function nextUrl(name: string, { body, link, baseUrl, path }: PageResponse): string | null {
  const given = name === LINK_HEADER ? nextLinkOf(link) : memberAt(body, name);
  if (given === undefined || given === null || given === '') return null;
  if (typeof given !== 'string')
    throw new BodyError(`${name} is ${Array.isArray(given) ? 'an array' : typeof given}; allowed: a URL or null`);
  const base = new URL(baseUrl);
  const root = base.pathname.replace(/\/+$/, '');
  const against = `${base.origin}${root}${path}`;
  if (!URL.canParse(bounded(name, given), against))
    throw new BodyError(`${name} is not a URL: ${JSON.stringify(given)}`);
  const url = new URL(given, against);
  if (url.origin !== base.origin || !url.pathname.startsWith(`${root}/`))
    throw new PageBoundError(`${name} is ${url.origin}${url.pathname}; allowed: a URL below ${base.origin}${root}`);
  const names = [...url.searchParams.keys()];
  const twice = names.find((one, index) => names.indexOf(one) !== index);
  if (twice !== undefined) throw new PageBoundError(`${name} has the parameter ${twice} twice`);
  return `${url.pathname.slice(root.length)}${url.search}`;
}

/** Returns the URL with the relation `next` in a header Link (RFC 8288), or null. */
function nextLinkOf(header: string | null): string | null {
  for (const [, url, parameters = ''] of (header ?? '').matchAll(
    /<([^>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:"[^"]*"|[^",;]*))?)*)/g,
  )) {
    const relations = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]*))/i.exec(parameters);
    const names = (relations?.[1] ?? relations?.[2] ?? '').toLowerCase().split(/\s+/);
    if (url !== undefined && names.includes('next')) return url;
  }
  return null;
}

type Numbered = Extract<Pages, { readonly kind: 'page' | 'offset' }>;

function nextNumber(pages: Numbered, { body, state, items, itemsBefore }: PageResponse): string | null {
  if (items === 0) return null;
  const at = state === null ? (pages.kind === 'page' ? pages.first : 0) : Number(state);
  const next = String(pages.kind === 'page' ? at + 1 : at + items);
  const more = pages.more === undefined ? undefined : memberAt(body, pages.more);
  if (typeof more === 'boolean') return more ? next : null;
  const count = pages.pages === undefined ? undefined : memberAt(body, pages.pages);
  if (pages.kind === 'page' && typeof count === 'number') return at + 1 < pages.first + count ? next : null;
  const total = pages.total === undefined ? undefined : memberAt(body, pages.total);
  if (typeof total === 'number') return itemsBefore + items < total ? next : null;
  return next;
}
