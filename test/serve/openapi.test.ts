import { Validator } from '@seriousme/openapi-schema-validator';
import formats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { type ErrorCode, errorTable } from '../../src/base/errors.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { isServedBare } from '../../src/contract/formats.ts';
import { dataOperations } from '../../src/read/metrics/data-operations.ts';
import { MEDIA_TYPES } from '../../src/serve/http/content/negotiation.ts';
import { statusOf } from '../../src/serve/http/refusal.ts';
import { createOpenApi, type OpenApiOptions } from '../../src/serve/openapi/openapi-document.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- the document is judged by assertions, not by types
type Json = any;

const catalogue = createCatalogue(declarations);
const options: OpenApiOptions = {
  catalogue,
  namesOf: () => ({}),
  writersOf: () => null,
  isBare: (resource) => isServedBare(resource, null),
  baseUrl: 'http://127.0.0.1:8080/v1',
  rateLimit: 120,
  hasData: true,
};
const document: Json = createOpenApi(options);
const all: [string, Json][] = Object.entries(document.paths).map(([path, item]) => [path, (item as Json).get]);
const operations = all.filter(([path]) => declarations.some((declaration) => declaration.path === path));

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true });
formats.default(ajv);
ajv.addVocabulary(['components']);
ajv.addSchema({ $id: 'openapi.json', components: { schemas: document.components.schemas } });

function validate(schema: Json, value: unknown): unknown {
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"openapi.json#/components/');
  const check = ajv.compile(JSON.parse(text));
  return check(value) ? null : check.errors;
}

test.for([
  ['as it is served', options],
  ['without a limit', { ...options, rateLimit: null }],
  ['without pages', { ...options, hasData: false }],
  ['under another name of a parameter', { ...options, namesOf: () => ({ breakdown: 'split' }) }],
  ['with bare lists', { ...options, isBare: (resource) => isServedBare(resource, 'bare') }],
  [
    'with wrapped objects, at an unknown host',
    { ...options, isBare: (resource) => isServedBare(resource, 'data'), baseUrl: '/v1' },
  ],
] satisfies [string, OpenApiOptions][])('the document %s is valid OpenAPI 3.1', async ([, given]) => {
  expect(await new Validator().validate(JSON.parse(JSON.stringify(createOpenApi(given))))).toEqual({ valid: true });
});

test('equal options give equal bytes, other parameter names give other bytes', () => {
  expect(JSON.stringify(createOpenApi(options))).toBe(JSON.stringify(document));
  const renamed: Json = createOpenApi({ ...options, namesOf: () => ({ breakdown: 'split' }) });
  const namesOf = (from: Json): string[] =>
    from.paths['/brands/{brandId}/metrics/daily'].get.parameters.map(({ name }: Json) => name);
  expect(namesOf(document)).toContain('breakdown');
  expect(namesOf(renamed)).toContain('split');
  expect(namesOf(renamed)).not.toContain('breakdown');
});

test('the document has exactly the paths of the catalogue, the data of the pages, the snapshots and the probes', () => {
  const derived = dataOperations.map(({ path: own }) => own);
  const data = [...derived, '/data/metrics/model', '/data/queries', '/data/queries/{name}'];
  const server = ['/snapshots', ...all.map(([path]) => path).filter((path) => path.startsWith('/snapshots/'))];
  expect(all.map(([path]) => path)).toEqual([
    ...declarations.map(({ path }) => path),
    ...data,
    ...server,
    '/livez',
    '/readyz',
  ]);
  for (const path of [...data, ...server, '/livez', '/readyz']) {
    expect(document.paths[path].servers[0].url).toBe('http://127.0.0.1:8080');
    expect(document.paths[path].get.security).toEqual(/^\/(snapshots|data)/.test(path) ? undefined : []);
  }
  const ids = all.map(([, { operationId }]) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test('the operation id of a resource is its tool', () => {
  expect(operations.map(([, { operationId }]) => operationId)).toEqual(declarations.map(({ tool }) => tool));
  const tags: string[] = document.tags.map(({ name }: Json) => name);
  for (const [, { tags: own }] of all) expect(tags).toEqual(expect.arrayContaining(own));
  expect(new Set(all.flatMap(([, { tags: own }]) => own)).size).toBe(tags.length);
});

describe.for(operations)('%s', ([path, operation]) => {
  const declaration = declarations.find((candidate) => candidate.path === path) as (typeof declarations)[number];

  test('documents its parameters with bounds and defaults', () => {
    const of = (place: string): Json[] => operation.parameters.filter((parameter: Json) => parameter.in === place);
    expect(of('path').map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
    expect(of('query').map(({ name }) => name)).toEqual(Object.keys(declaration.query));
    for (const { name, schema, example, examples } of [...of('path'), ...of('query')]) {
      // No fixed value of a cursor is valid.
      if (name === 'cursor')
        expect([example, examples]).toEqual([undefined, { nextPage: { summary: expect.any(String) } }]);
      else expect(validate(schema, example)).toBe(null);
    }
    for (const { name, schema, description } of of('query')) {
      const parameter = declaration.query[name];
      expect(description).toBe(parameter?.about);
      expect([schema.enum, schema.default, schema.maximum]).toEqual([
        parameter?.values,
        parameter?.default,
        parameter?.max,
      ]);
    }
  });

  test('documents its response with headers, formats and valid examples', () => {
    const { headers, content, 'x-media-types': tables = {} } = operation.responses[200];
    const expected = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'ETag', 'X-Data-As-Of', 'X-Data-Coverage'];
    expect(Object.keys(headers)).toEqual(expect.arrayContaining([...expected, 'X-Request-Id']));
    expect('X-Next-Cursor' in headers).toBe(declaration.paging === 'cursor');
    const hasData = declaration.tables.some(({ at }) => at !== 'body' && at.list === 'data');
    // From several media types, clients infer the union of their types.
    expect(Object.keys(content)).toEqual(['application/json']);
    const { json: _, ...rowTypes } = MEDIA_TYPES;
    expect(Object.keys(tables)).toEqual(hasData ? Object.values(rowTypes) : []);
    for (const { schema, example } of [...Object.values<Json>(content), ...Object.values<Json>(tables)]) {
      if (example !== undefined) expect(validate(schema, example)).toBe(null);
    }
    expect(content['application/json'].example).toBeDefined();
    if (hasData) expect(tables['text/csv'].example.split('\r\n').length).toBe(3);
  });

  test('documents the statuses of its errors', () => {
    const statuses = [400, 401, 403, ...(path.includes('{') ? [404] : []), 408, 414, 429, 431, 500, 503];
    expect(Object.keys(operation.responses).map(Number)).toEqual([200, 304, ...statuses]);
  });
});

test('the paths outside the catalogue document the statuses of their errors', () => {
  const common = [400, 403, 408, 414, 431, 500];
  const expected: Readonly<Record<string, readonly number[]>> = {
    ...Object.fromEntries(dataOperations.map(({ path }) => [path, [200, 304, 401, 429, 503]])),
    '/data/metrics/model': [200, 304, 401, 429, 503],
    '/data/queries': [200, 304, 401, 429, 503],
    '/data/queries/{name}': [200, 304, 401, 404, 429, 503],
    '/snapshots': [200, 401, 429, 503],
    '/snapshots/{id}/manifest.json': [200, 304, 401, 404, 429, 503],
    '/snapshots/{id}/{table}/{file}': [200, 206, 304, 401, 404, 416, 429, 503],
    '/snapshots/{id}/{table}/{month}/{file}': [200, 206, 304, 401, 404, 416, 429, 503],
    '/livez': [200],
    '/readyz': [200, 503],
  };
  const others = all.filter(([path]) => operations.every(([known]) => known !== path));
  expect(others.map(([path]) => path)).toEqual(Object.keys(expected));
  for (const [path, operation] of others) {
    const statuses = [...common, ...(expected[path] ?? [])].sort((a, b) => a - b);
    expect([path, Object.keys(operation.responses).map(Number)]).toEqual([path, statuses]);
    for (const { schema, example } of Object.values<Json>(operation.responses[200].content)) {
      if (example !== undefined) expect(validate(schema, example)).toBe(null);
    }
    for (const { schema, example } of operation.parameters ?? []) {
      if (schema !== undefined) expect(validate(schema, example)).toBe(null);
    }
  }
});

test('every error response has a valid example of each of its codes', () => {
  const found = new Set<string>();
  for (const { content, headers } of Object.values<Json>(document.components.responses)) {
    const { schema, examples } = content['application/json'];
    const statuses = new Set<number | null>();
    for (const [code, { value }] of Object.entries<Json>(examples)) {
      expect(validate(schema, value)).toBe(null);
      expect(value.error.code).toBe(code);
      expect(value.error.docUrl).toBe(`/v1/docs/errors#${code}`);
      statuses.add(statusOf(code as ErrorCode));
      found.add(code);
    }
    const [status, ...others] = statuses;
    expect(others).toEqual([]);
    expect('Retry-After' in headers).toBe(status === 429 || status === 503);
  }
  // Only upstream sends plan_required. The next two are errors of methods with a body, which no path of the document has, and the others
  // are errors of SQL and saved queries below /data, which the document does not describe.
  const ofMethods = ['method_not_allowed', 'body_too_large'];
  const ofSql = ['sql_invalid', 'sql_rejected', 'query_limit', 'query_crashed', 'query_canceled', 'changed_meanwhile'];
  const undocumented = ['plan_required', ...ofMethods, ...ofSql];
  const sent = Object.entries(errorTable).filter(([, kind]) => 'status' in kind);
  expect([...found, ...undocumented].sort()).toEqual(sent.map(([code]) => code).sort());
  const { examples } = document.components.responses.RateLimited.content['application/json'];
  expect(examples.rate_limited.value.error.message).toMatch(/\d+ seconds/);
});

test('header examples are valid', () => {
  for (const { schema, example } of Object.values<Json>(document.components.headers)) {
    expect(validate(schema, example)).toBe(null);
  }
});

test('rows and envelopes are components and are referenced', () => {
  const names = Object.keys(document.components.schemas);
  expect(names).toEqual(expect.arrayContaining(['Brand', 'Response', 'ResponsePage', 'ArticleDetail', 'Error']));
  for (const name of names) expect(name).toMatch(/^([A-Z][a-z]+)+$/);
  const referred = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  expect([...new Set(referred)].sort()).toEqual(names.sort());
});

test('without a rate limit there are no rate limit headers', () => {
  expect(JSON.stringify(createOpenApi({ ...options, rateLimit: null }))).not.toContain('X-RateLimit');
});
