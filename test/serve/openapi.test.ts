import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { type ErrorCode, errorTable } from '../../src/base/errors.ts';
import { createCatalogue } from '../../src/contract/catalogue.ts';
import { statusOf } from '../../src/serve/http/refusal.ts';
import { createOpenApi, type OpenApiOptions } from '../../src/serve/openapi/openapi-document.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is judged by assertions, not by types
type Json = any;

const catalogue = createCatalogue(declarations);
const options: OpenApiOptions = {
  catalogue,
  namesOf: () => ({}),
  baseUrl: 'http://127.0.0.1:8080/v1',
  rateLimit: 120,
};
const document: Json = createOpenApi(options);
const operations: [string, Json][] = Object.entries(document.paths).map(([path, item]) => [path, (item as Json).get]);

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
  ['under another name of a parameter', { ...options, namesOf: () => ({ breakdown: 'split' }) }],
] as const)('Redocly has nothing against the document %s', async ([, given]) => {
  const config = await createConfig({ extends: ['recommended'] });
  const source = JSON.stringify(createOpenApi(given));
  const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
  expect(
    problems.map(({ ruleId, severity, message, location }) => [ruleId, severity, message, location[0]?.pointer]),
  ).toEqual([]);
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

test('the document has exactly the paths of the catalogue, with the tool as operation id', () => {
  expect(operations.map(([path]) => path)).toEqual(declarations.map(({ path }) => path));
  expect(operations.map(([, { operationId }]) => operationId)).toEqual(declarations.map(({ tool }) => tool));
  const tags: string[] = document.tags.map(({ name }: Json) => name);
  for (const [, { tags: own }] of operations) expect(tags).toEqual(expect.arrayContaining(own));
  expect(new Set(operations.flatMap(([, { tags: own }]) => own)).size).toBe(tags.length);
});

describe.for(operations)('%s', ([path, operation]) => {
  const declaration = declarations.find((candidate) => candidate.path === path) as (typeof declarations)[number];

  test('documents its parameters with bounds and defaults', () => {
    const of = (place: string): Json[] => operation.parameters.filter((parameter: Json) => parameter.in === place);
    expect(of('path').map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
    expect(of('query').map(({ name }) => name)).toEqual(Object.keys(declaration.query));
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
    const { headers, content } = operation.responses[200];
    const expected = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'ETag', 'X-Data-As-Of', 'X-Data-Coverage'];
    expect(Object.keys(headers)).toEqual(expect.arrayContaining([...expected, 'X-Request-Id']));
    expect('X-Next-Cursor' in headers).toBe(declaration.paging === 'cursor');
    const hasData = declaration.tables.some(({ at }) => at !== 'body' && at.list === 'data');
    expect(Object.keys(content)).toEqual([
      'application/json',
      ...(hasData ? ['text/csv', 'application/vnd.apache.parquet', 'application/vnd.apache.arrow.stream'] : []),
      ...(hasData ? ['application/x-ndjson'] : []),
    ]);
    for (const { schema, example } of Object.values<Json>(content)) {
      if (example !== undefined) expect(validate(schema, example)).toBe(null);
    }
    expect(content['application/json'].example).toBeDefined();
    if (hasData) expect(content['text/csv'].example.split('\r\n').length).toBe(3);
  });

  test('documents every error', () => {
    const statuses = Object.values(errorTable).flatMap((kind) => ('status' in kind ? [kind.status] : []));
    expect(Object.keys(operation.responses).map(Number)).toEqual(
      [...new Set([200, 304, ...statuses])].sort((a, b) => a - b),
    );
  });
});

test('every error response has a valid example of each of its codes', () => {
  const found: string[] = [];
  for (const [name, { content, headers }] of Object.entries<Json>(document.components.responses)) {
    const { schema, examples } = content['application/json'];
    for (const [code, { value }] of Object.entries<Json>(examples)) {
      expect(validate(schema, value)).toBe(null);
      expect(value.error.code).toBe(code);
      expect(`Error${statusOf(code as ErrorCode)}`).toBe(name);
      found.push(code);
    }
    expect('Retry-After' in headers).toBe(name === 'Error429' || name === 'Error503');
  }
  const told = Object.entries(errorTable).filter(([, kind]) => 'status' in kind);
  expect(found.sort()).toEqual(told.map(([code]) => code).sort());
  expect(
    document.components.responses.Error429.content['application/json'].examples.rate_limited.value.error.message,
  ).toMatch(/\d+ seconds/);
});

test('header examples are valid', () => {
  for (const { schema, example } of Object.values<Json>(document.components.headers)) {
    expect(validate(schema, example)).toBe(null);
  }
});

test('row schemas are components and are referenced', () => {
  const names = Object.keys(document.components.schemas);
  expect(names).toEqual(expect.arrayContaining(['Brand', 'Response', 'ResponseCitation', 'ArticleDetail', 'Error']));
  for (const name of names) expect(name).toMatch(/^([A-Z][a-z]+)+$/);
  const referred = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  expect([...new Set(referred)].sort()).toEqual(names.sort());
});

test('without a rate limit there are no rate limit headers', () => {
  expect(JSON.stringify(createOpenApi({ ...options, rateLimit: null }))).not.toContain('X-RateLimit');
});
