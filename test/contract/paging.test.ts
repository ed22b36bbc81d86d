import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExactNumber } from '../../src/base/json.ts';
import { BodyError, PageBoundError } from '../../src/contract/body.ts';
import { nextCursorOf, nextState, type PageResponse, pageRequest } from '../../src/contract/paging.ts';
import type { Pages } from '../../src/contract/resource.ts';

const page: PageResponse = {
  body: {},
  link: null,
  baseUrl: 'https://api.example.com/v2',
  path: '/books',
  state: null,
  items: 10,
  itemsBefore: 0,
};
const link: Pages = { kind: 'link', next: 'links.next' };
const bodyWithNext = (next: unknown): PageResponse => ({ ...page, body: { links: { next } } });

describe('nextState', () => {
  test.each<[unknown, string | null]>([
    ['https://api.example.com/v2/books?page=2', '/books?page=2'],
    ['/v2/books?page=2', '/books?page=2'],
    ['?page=2', '/books?page=2'],
    ['pens?page=2', '/pens?page=2'],
    [null, null],
    ['', null],
    [undefined, null],
  ])('the URL %j leads to %j', (url, expected) => {
    expect(nextState(link, bodyWithNext(url))).toBe(expected);
  });

  test.each([
    'https://evil.example.com/v2/books?page=2',
    'http://api.example.com/v2/books',
    'https://api.example.com:8443/v2/books',
    '//evil.example.com/v2/books',
    'https://api.example.com/v1/books',
    'https://api.example.com/v2evil/books',
    '/v2/../v1/books',
  ])('the URL %j is rejected, because the key would be sent elsewhere', (url) => {
    expect(() => nextState(link, bodyWithNext(url))).toThrow(PageBoundError);
  });

  test('a URL that is none, is not text, is too long or repeats a parameter is rejected', () => {
    const urls = ['https://', 7, ['/v2/books'], `/v2/books?q=${'x'.repeat(5_000)}`, '/v2/books?id=1&id=2'];
    for (const url of urls)
      expect(() => nextState(link, bodyWithNext(url)), JSON.stringify(url).slice(0, 40)).toThrow(BodyError);
  });

  test.each([
    ['<https://api.example.com/v2/books?page=3>; rel="next"', '/books?page=3'],
    ['<https://api.example.com/v2/a>; rel="prev", <https://api.example.com/v2/b>; rel=next', '/b'],
    ['<https://api.example.com/v2/a,b>; title="x, y"; rel="last next"', '/a,b'],
    ['<https://api.example.com/v2/a>; rel="prefetch"', null],
    ['', null],
  ])('the header Link %j leads to %j', (header, expected) => {
    expect(nextState({ kind: 'link', next: 'header' }, { ...page, link: header })).toBe(expected);
  });

  const cursor: Pages = { kind: 'cursor', parameter: 'after', next: 'meta.after' };
  const stateOf = (value: unknown): string | null => nextState(cursor, { ...page, body: { meta: { after: value } } });

  test.each([
    ['a', 'a'],
    [12, '12'],
    [new ExactNumber('12345678901234567890'), '12345678901234567890'],
    ['c'.repeat(4_096), 'c'.repeat(4_096)],
    ['', null],
    [null, null],
    [undefined, null],
  ])('the cursor %j is %j, digit for digit', (value, expected) => {
    expect(stateOf(value)).toBe(expected);
  });

  test('a cursor that is too long or not text or a number is rejected', () => {
    expect(() => stateOf('c'.repeat(4_097))).toThrow(/4097 characters; allowed: up to 4096/);
    for (const value of [{}, ['a'], true]) expect(() => stateOf(value)).toThrow(BodyError);
  });

  test('a cursor is found by its path or by its whole name, and by the name of this API', () => {
    expect(nextState(cursor, { ...page, body: { 'meta.after': 'whole name' } })).toBe('whole name');
    expect([{ nextCursor: 'a' }, { nextCursor: null }, {}, []].map(nextCursorOf)).toEqual(['a', null, null, null]);
  });
});

/** Reads an API with this many items that sends at most `cap` of the requested items per page. */
function readAll(
  pages: Pages & { kind: 'page' | 'offset' },
  count: number,
  cap: number,
  members: (at: number) => object,
) {
  const read: number[] = [];
  let state: string | null = null;
  for (let requests = 1; ; requests++) {
    const { query } = pageRequest(pages, { path: '/items', query: {} }, state);
    const at = Number(query[pages.parameter] ?? (pages.kind === 'page' ? pages.first : 0));
    const start = pages.kind === 'page' ? (at - pages.first) * cap : at;
    const items = Array.from({ length: Math.max(0, Math.min(cap, count - start)) }, (_, index) => start + index);
    const body = members(start + items.length);
    state = nextState(pages, { ...page, body, state, items: items.length, itemsBefore: read.length });
    read.push(...items);
    if (state === null) return { read, requests };
    if (requests > count + 2) throw new Error('does not end');
  }
}

describe('numbered pages', () => {
  const counts = fc.nat({ max: 40 });
  const caps = fc.integer({ min: 1, max: 12 });
  const kinds = fc.constantFrom<Pages & { kind: 'page' | 'offset' }>(
    { kind: 'page', parameter: 'page', first: 0 },
    { kind: 'page', parameter: 'page', first: 1 },
    { kind: 'offset', parameter: 'offset' },
  );

  test('every page is read once, with each kind of end marker and without one', () => {
    const ends = fc.constantFrom('more', 'pages', 'total', 'nothing');
    fc.assert(
      fc.property(counts, caps, kinds, ends, (count, cap, kind, end) => {
        const pages = end === 'nothing' ? kind : { ...kind, [end]: `meta.${end}` };
        const last = Math.ceil(count / cap);
        const members = (seen: number) => ({ meta: { more: seen < count, pages: last, total: count } });
        const { read, requests } = readAll(pages, count, cap, members);
        expect(read).toEqual(Array.from({ length: count }, (_, index) => index));
        const hasEnd = end !== 'nothing' && !(end === 'pages' && kind.kind === 'offset');
        // Without the member, only an empty page is the end.
        expect(requests).toBe(count === 0 ? 1 : last + (hasEnd ? 0 : 1));
      }),
    );
  });
});
