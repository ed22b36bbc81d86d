import { describe, expect, test } from 'vitest';
import { declarations } from '../../../schemas/catalogue.ts';
import { createCatalogue } from '../../../src/contract/catalogue.ts';
import { type ClassifiedEndpoint, classifyEndpoints } from '../../../src/contract/openapi/classify.ts';
import { readEndpoints } from '../../../src/contract/openapi/document-endpoints.ts';

const { resources } = createCatalogue(declarations);
const list = { 200: { content: { 'application/json': { schema: { type: 'array', items: { type: 'object' } } } } } };

function classify(paths: Record<string, unknown>, basePath = ''): ClassifiedEndpoint[] {
  return classifyEndpoints(readEndpoints({ paths }, basePath).endpoints, resources);
}

function stateOf(path: string, operation: unknown, others: Record<string, unknown> = {}): ClassifiedEndpoint {
  const found = classify({ [path]: { get: operation }, ...others }).find((one) => one.endpoint.path === path);
  if (found === undefined) throw new Error(`${path} was not read`);
  return found;
}

const query = (name: string, schema: unknown, more: object = { required: true }) => ({
  name,
  in: 'query',
  schema,
  ...more,
});

test('only GET endpoints are read, and each path shape once', () => {
  const paths = {
    '/labels': { get: { responses: list }, post: { responses: list } },
    '/labels/': { get: { responses: list } },
    '/jobs': { post: { responses: list } },
    '/jobs/{jobId}': { delete: { responses: list } },
  };
  expect(classify(paths).map(({ endpoint }) => endpoint.path)).toEqual(['/labels']);
});

test('a path of the base URL before the paths of the document is removed', () => {
  const [endpoint] = classify({ '/v1/brands': { get: { responses: list } } }, '/v1');
  expect(endpoint).toMatchObject({ state: 'declared', resource: 'brands', endpoint: { path: '/brands' } });
});

test('parameters of an operation replace those of its path', () => {
  const parameters = [query('state', { type: 'string' })];
  const get = { parameters: [query('state', { type: 'string', enum: ['a', 'b'] })], responses: list };
  const [endpoint] = classify({ '/labels': { parameters, get } });
  expect(endpoint?.state).toBe('available');
  expect(endpoint?.endpoint.parameters).toHaveLength(1);
});

test('all declared resources are found under other names of their parameters', () => {
  const paths = Object.fromEntries(
    resources.map(({ path }) => [path.replace(/\{(\w+)\}/g, '{other_$1}'), { get: { responses: list } }]),
  );
  expect(classify(paths).map(({ resource, state }) => [resource, state])).toEqual(
    resources.map(({ name }) => [name, 'declared']),
  );
});

describe('an endpoint is available if all of its required parameters have values', () => {
  test.each([
    ['none', '/labels', []],
    ['a brand', '/brands/{brandId}/labels', []],
    ['a value of a list', '/labels', [query('state', { enum: ['a', 'b', 'c'] })]],
    [
      'a range of days',
      '/labels',
      [query('from', { type: 'string' }), query('to', { type: 'string', format: 'date' })],
    ],
    ['a page size', '/labels', [query('page_size', { type: 'integer', maximum: 50 })]],
    ['a default', '/labels', [query('sort', { type: 'string', default: 'name' })]],
    ['a flag', '/labels', [query('all', { type: 'boolean' })]],
    ['an optional text', '/labels', [query('q', { type: 'string' }, {})]],
  ])('%s', (_title, path, parameters) => {
    expect(stateOf(path, { parameters, responses: list })).toMatchObject({ state: 'available', reason: null });
  });

  test('the ids of an available list, to a bounded depth', () => {
    const paths = Object.fromEntries(
      [
        '/brands/{brandId}/a',
        '/brands/{b}/a/{aId}/b',
        '/brands/{b}/a/{x}/b/{bId}/c',
        '/brands/{b}/a/{x}/b/{y}/c/{z}/d/{w}/e',
      ].map((path) => [path, { get: { responses: list } }]),
    );
    expect(classify(paths).map(({ state, reason }) => reason ?? state)).toEqual([
      'available',
      'available',
      'available',
      'the path has 5 parameters; allowed: up to 4',
    ]);
  });
});

describe('an endpoint is unsupported, with the reason', () => {
  const json = (schema: unknown) => ({ 200: { content: { 'application/json': { schema } } } });
  test.each([
    ['/labels', [query('q', { type: 'string' })], list, 'the required parameter q has no known values'],
    [
      '/labels',
      [query('n', { enum: [...'abcdefghi'] })],
      list,
      'the required parameter n has 9 values; allowed: up to 8',
    ],
    ['/labels', [query('a&b', { enum: ['a'] })], list, 'the required parameter "a&b" has no known values'],
    [
      '/labels',
      [{ name: 'X-Team', in: 'header', required: true }],
      list,
      'the required header parameter X-Team is not supported',
    ],
    ['/stores/{storeId}/stock', [], list, 'no list of the API has the values of the path parameter storeId'],
    ['/brands/{brandId}/metrics/{day}', [], list, 'no list of the API has the values of the path parameter day'],
    ['/labels/{a}/{b}', [], list, 'no list of the API has the values of the path parameter a'],
    ['/labels', [], { 200: { content: { 'image/png': {} } } }, 'the response is image/png, not JSON'],
    [
      '/labels',
      [],
      { 200: { content: { 'application/x-ndjson': {} } } },
      'the response is application/x-ndjson, not JSON',
    ],
    ['/labels', [], { 204: {} }, 'the document describes no JSON response'],
    ['/labels', [], json({ type: 'string' }), 'the response is of type string; allowed: object or array'],
    ['/mcp/tools', [], list, 'it is not data of the API'],
    ['/../admin', [], list, 'the path has characters that cannot be sent as they are'],
  ])('%s', (path, parameters, responses, reason) => {
    expect(stateOf(path, { parameters, responses })).toMatchObject({ state: 'unsupported', reason, resource: null });
  });
});

test.each([
  ['no object', null],
  ['a list', [1, 2]],
  ['paths that are a list', { paths: [{ get: {} }] }],
  [
    'wrong forms',
    { paths: { '/a': { get: 'text' }, '/b': null, '/c': { get: { parameters: { a: 1 }, responses: [1] } } } },
  ],
  ['circular references', { paths: { '/a': { $ref: '#/paths/~1a' }, '/b': { $ref: '#' } } }],
])('a malformed document gives no available endpoints: %s', (_title, document) => {
  const { endpoints } = readEndpoints(document);
  expect(classifyEndpoints(endpoints, resources).filter(({ state }) => state !== 'unsupported')).toEqual([]);
});

test.each([
  ...['/../admin', '/brands/../../admin', '/%2e%2e/admin', '/..%2fadmin', '/./things', '//elsewhere.invalid/things'],
  ...['/\\elsewhere.invalid/things', 'https://elsewhere.invalid/things', 'no-slash', '', '/things?key=value'],
  ...['/things#part', '/line\r\nX-Injected: yes', '/nul\0', '/unclosed/{brandId', '/brands/{}/things', '/ space'],
])('the path %j cannot be requested, and hides no declared endpoint', (path) => {
  const states = classify({ [path]: { get: { responses: list } }, '/brands': { get: { responses: list } } });
  expect(states.map(({ state }) => state)).toEqual(['unsupported', 'declared']);
});

test('parameters with names that cannot be sent as they are make an endpoint unsupported', () => {
  for (const name of ['x'.repeat(10_000), 'new\nline', 'list[]', 'ключ', ''])
    expect(stateOf('/labels', { parameters: [query(name, { enum: ['a'] })], responses: list }).state).toBe(
      'unsupported',
    );
});

test('names of JavaScript prototypes are paths like others', () => {
  const names = ['/__proto__', '/constructor', '/toString'];
  const paths = Object.fromEntries(names.map((name) => [name, { get: { responses: list } }]));
  expect(classify(paths).map(({ endpoint, state }) => [endpoint.path, state])).toEqual(
    names.map((name) => [name, 'available']),
  );
});

test('paths beyond the limits are counted and ignored', () => {
  const get = { responses: list };
  const many = Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`/p${index}`, { get }]));
  const { endpoints, ignored } = readEndpoints({ paths: { [`/${'x'.repeat(501)}`]: { get }, ...many } });
  expect([endpoints.length, ignored]).toEqual([5_000, 1_001]);
});
