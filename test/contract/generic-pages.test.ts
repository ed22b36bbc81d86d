import { describe, expect, test } from 'vitest';
import { checkPage, formOfEndpoint, ITEMS_MAX, toGenericForm } from '../../src/contract/generic/generic-form.ts';
import { inferPages, moreBeyond } from '../../src/contract/generic/generic-pages.ts';
import { classifyEndpoints } from '../../src/contract/openapi/classify.ts';
import { type DocumentEndpoint, readEndpoints } from '../../src/contract/openapi/document-endpoints.ts';

interface Parameter {
  readonly name: string;
  readonly schema?: object;
}

function endpointWith(parameters: readonly Parameter[], properties: object = {}): DocumentEndpoint {
  const schema = { type: 'object', properties: { data: { type: 'array', items: { type: 'object' } }, ...properties } };
  const get = {
    parameters: parameters.map((one) => ({ in: 'query', schema: { type: 'string' }, ...one })),
    responses: { 200: { content: { 'application/json': { schema } } } },
  };
  return readEndpoints({ paths: { '/things': { get } } }).endpoints[0] as DocumentEndpoint;
}

const size = { name: 'limit', schema: { type: 'integer', maximum: 50 } };
const text = { type: 'string' };

describe('the cursor of a list', () => {
  test.each<[string, string, object, unknown]>([
    ['cursor', 'nextCursor', { nextCursor: text }, null],
    ['after', 'next_cursor', { next_cursor: { type: ['string', 'null'] } }, null],
    ['page_token', 'paging.next_page_token', {}, { paging: { next_page_token: 'b' } }],
    ['cursor', 'meta.next', {}, { data: [], meta: { next: 7 } }],
  ])('%s takes %s', (parameter, next, properties, body) => {
    const endpoint = endpointWith([size, { name: parameter }], properties);
    const { pages } = inferPages(endpoint, endpoint.response(), body);
    expect(pages).toEqual({ parameter, next, size: { parameter: 'limit', max: 50 } });
  });

  test('a limit without a cursor is requested for the only page', () => {
    const endpoint = endpointWith([size]);
    expect(inferPages(endpoint, endpoint.response(), null)).toMatchObject({ pages: null, ask: { limit: '50' } });
  });
});

test.each([['page'], ['pageNumber'], ['offset'], ['from']])('a list with the number %s is unsupported', (name) => {
  const endpoint = endpointWith([size, { name, schema: { type: 'integer' } }]);
  expect(classifyEndpoints([endpoint], [])).toMatchObject([
    { state: 'unsupported', reason: `${name} selects its pages; allowed: a cursor` },
  ]);
  const withCursor = endpointWith([size, { name, schema: { type: 'integer' } }, { name: 'cursor' }]);
  expect(classifyEndpoints([withCursor], [])).toMatchObject([{ state: 'available' }]);
});

describe('the only page of a list', () => {
  const link = '<https://api.example.com/things?page=2>; rel="next"';

  test.each<[object, string | null, string]>([
    [{}, link, 'the header Link has a next page'],
    [{ links: { next: '/things?start=8' } }, null, 'links.next is "/things?start=8"'],
    [{ nextCursor: 'b' }, null, 'nextCursor is "b"'],
    [{ has_more: true }, null, 'has_more is true'],
    [{ page: { totalPages: 4 } }, null, 'page.totalPages is 4'],
    [{ meta: { total: 9 } }, null, 'meta.total is 9'],
  ])('%j with the header %j is not the complete list', (beside, header, reason) => {
    expect(moreBeyond({ body: { data: [], ...beside }, link: header, items: 8 })).toBe(reason);
  });

  test.each<[object, string | null]>([
    [{}, null],
    [{}, '<https://api.example.com/things>; rel="prefetch", <https://api.example.com/things>; rel="last"'],
    [{ links: { next: null, prev: '/things' }, has_more: false, total: 8, pages: 1, nextCursor: '' }, null],
    [{ data: [{ next: 'b', total: 99 }], other: { total: 99 } }, null],
  ])('%j with the header %j is the complete list', (beside, header) => {
    expect(moreBeyond({ body: { data: [], ...beside }, link: header, items: 8 })).toBeNull();
  });

  test('is unsupported until the same list is complete; the total of a report may be a sum', () => {
    const taken = { resources: new Set<string>(), tables: new Set<string>() };
    const form = formOfEndpoint(endpointWith([]), '/brands', taken);
    const answer = (total: number) => ({ body: { data: [{ id: 1 }], total }, link: null, isFirstPage: true });
    const lacking = checkPage(form, 'things a', answer(2));
    expect(lacking.unsupported).toEqual({
      list: 'things a',
      reason: 'the list has more items than its only page: total is 2; allowed: a cursor for the next page',
    });
    expect(checkPage(lacking, 'things a', answer(3))).toBe(lacking);
    expect(checkPage(lacking, 'things b', answer(1))).toBe(lacking);
    expect(checkPage(lacking, 'things a', answer(1))).toEqual(form);
    const report = { ...form, range: { from: 'from', to: 'to' } };
    expect(checkPage(report, 'things a', answer(2))).toBe(report);
  });
});

test('a page with too many items is unsupported before its items are read', () => {
  const form = formOfEndpoint(endpointWith([]), '/brands', { resources: new Set(), tables: new Set() });
  const unread = new Proxy(Array.from({ length: ITEMS_MAX + 1 }), {
    get: (items, name) => (name === 'length' ? items.length : undefined),
  });
  const response = { body: { data: unread }, link: null, isFirstPage: false };
  expect(checkPage(form, 'things', response).unsupported).toEqual({
    list: 'things',
    reason: 'the list has 20001 items on one page; allowed: up to 20000',
  });
});

test('a value without a name and columns is no stored form', () => {
  const form = formOfEndpoint(endpointWith([]), '/brands', { resources: new Set(), tables: new Set() });
  expect(toGenericForm(form)).toBe(form);
  expect([{ ...form, columns: null }, { ...form, name: 1 }, 'form', null].map(toGenericForm)).toEqual([
    null,
    null,
    null,
    null,
  ]);
});
