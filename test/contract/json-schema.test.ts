import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { bodySchema, type JsonSchema, parameterSchema, rowName } from '../../src/contract/json-schema.ts';
import { choiceParameter, flagParameter, limitParameter, textParameter } from '../../src/contract/parameters.ts';
import { defineResource, type ResourceDeclaration } from '../../src/contract/resource.ts';

const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
formats.default(ajv);

const schemaOf = (name: string): JsonSchema => {
  const resource = declarations.find((declaration) => declaration.name === name) as ResourceDeclaration;
  return bodySchema(resource, declarations);
};

const namesOf = (schema: unknown): string[] =>
  Object.keys((schema as { properties: Record<string, unknown> }).properties);

test.for(declarations.map((declaration) => [declaration.name, declaration] as const))(
  '%s has a schema that compiles strictly, with a description of every field',
  ([, declaration]) => {
    const schema = bodySchema(declaration, declarations);
    expect(() => ajv.compile(schema)).not.toThrow();
    expect(JSON.stringify(bodySchema(declaration, declarations))).toBe(JSON.stringify(schema));
    for (const field of fieldsIn(schema)) expect(field).toHaveProperty('description');
  },
);

describe('bodySchema', () => {
  test('orders properties: echoed parameters, fields outside the list, the list, the cursor', () => {
    expect(namesOf(schemaOf('metrics'))).toEqual(['from', 'to', 'responses', 'data']);
    expect(namesOf(schemaOf('metrics_groups'))).toEqual(['from', 'to', 'groupBy', 'data']);
    expect(namesOf(schemaOf('traffic'))).toEqual(['from', 'to', 'connected', 'property', 'currency', 'totals', 'data']);
    expect(namesOf(schemaOf('responses'))).toEqual(['data', 'nextCursor']);
    expect(namesOf(schemaOf('prompt_groups'))).toEqual(['topics', 'tags']);
    expect(namesOf(schemaOf('cited_domains'))).toEqual(['data']);
  });

  test('of a detail combines the fields of its list with its own', () => {
    const [listed, own] = schemaOf('article')['allOf'] as [JsonSchema, JsonSchema];
    expect(namesOf(listed)).toContain('slug');
    expect(namesOf(own)).toContain('jsonLd');
    expect(namesOf(own)).not.toContain('id');
    expect(namesOf(schemaOf('brand'))).toEqual(['id', 'name', 'websiteUrl', 'engines', 'createdAt']);
  });

  test('allows a bare list only if the specification does not define the envelope', () => {
    const validate = (name: string, body: unknown): boolean => ajv.validate(schemaOf(name), body);
    for (const name of ['engines', 'brands', 'competitors']) {
      expect(validate(name, [])).toBe(true);
      expect(validate(name, { data: [] })).toBe(true);
      expect(validate(name, { data: {} })).toBe(false);
      expect(validate(name, {})).toBe(false);
    }
    expect(validate('prompts', [])).toBe(false);
    for (const item of ['slug', { slug: 'x' }, 7, null]) expect(validate('engines', [item])).toBe(true);
    for (const body of [5000, { credits: 1 }, { data: { left: null } }]) expect(validate('credits', body)).toBe(true);
  });

  test('accepts null, missing and unknown fields, and rejects wrong types', () => {
    const page = (item: unknown): boolean => ajv.validate(schemaOf('responses'), { data: [item], nextCursor: null });
    expect(page({})).toBe(true);
    expect(page({ id: null, competitors: null, citations: [{}], added: 1 })).toBe(true);
    expect(page({ brandPosition: 1.5 })).toBe(false);
    expect(page({ id: 'no uuid' })).toBe(false);
    expect(page({ createdAt: '2026-02-30T00:00:00Z' })).toBe(false);
    expect(page({ citations: [{ position: 'first' }] })).toBe(false);
    expect(ajv.validate(schemaOf('responses'), { data: [] })).toBe(false);
  });

  test('replaces rows by references if given a function for references', () => {
    const [resource] = declarations.filter(({ name }) => name === 'responses') as [ResourceDeclaration];
    const named = new Map<string, JsonSchema>();
    const schema = bodySchema(resource, declarations, (name, row) => {
      named.set(name, row);
      return { $ref: `#/${name}` };
    });
    expect([...named.keys()]).toEqual(['ResponseCompetitor', 'ResponseCitation', 'Response']);
    expect(schema).toMatchObject({ properties: { data: { items: { $ref: '#/Response' } } } });
  });
});

test('rowName is in PascalCase and singular', () => {
  expect(['brands', 'forum_opportunities', 'traffic_daily', 'response_citations'].map(rowName)).toEqual([
    'Brand',
    'ForumOpportunity',
    'TrafficDaily',
    'ResponseCitation',
  ]);
});

test('parameterSchema contains values, bounds and defaults', () => {
  expect(parameterSchema(limitParameter(200, 50))).toEqual({ type: 'integer', minimum: 1, maximum: 200, default: 50 });
  expect(parameterSchema(flagParameter('F.', { default: false }))).toEqual({ type: 'boolean', default: false });
  expect(parameterSchema(choiceParameter('C.', ['a', 'b'], { default: 'a' }))).toEqual({
    type: 'string',
    enum: ['a', 'b'],
    default: 'a',
  });
  expect(parameterSchema(textParameter('T.'))).toEqual({ type: 'string', minLength: 1 });
});

test('defineResource rejects an echoed parameter that is not declared', () => {
  const [sound] = declarations as [ResourceDeclaration];
  expect(() => defineResource({ ...sound, echoes: ['from'] })).toThrow('the echoed parameter from is not declared');
});

function fieldsIn(schema: unknown): unknown[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = 'properties' in schema ? Object.values(schema.properties as Record<string, unknown>) : [];
  return [...own, ...Object.values(schema).flatMap(fieldsIn)];
}
