import formats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { bodySchema, type JsonSchema } from '../../src/contract/json-schema.ts';
import { type ResourceDeclaration } from '../../src/contract/resource.ts';

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
  test('of a detail combines the fields of its list with its own', () => {
    const names = namesOf(schemaOf('article'));
    expect(names.slice(0, 2)).toEqual(['id', 'promptId']);
    expect(names).toEqual(expect.arrayContaining(['slug', 'jsonLd']));
    expect(new Set(names).size).toBe(names.length);
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
});

function fieldsIn(schema: unknown): unknown[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = 'properties' in schema ? Object.values(schema.properties as Record<string, unknown>) : [];
  return [...own, ...Object.values(schema).flatMap(fieldsIn)];
}
