import formats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { createFieldWriters, createObservedForms, FIELD_FORMS } from '../../src/contract/field-forms.ts';
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

describe('bodySchema of a served body', () => {
  const servedSchemaOf = (name: string, isBare = false): JsonSchema => {
    const resource = declarations.find((declaration) => declaration.name === name) as ResourceDeclaration;
    return bodySchema(resource, declarations, { served: { isBare } });
  };
  const errorsOf = (name: string, body: unknown, isBare = false): unknown[] => {
    const check = ajv.compile(servedSchemaOf(name, isBare));
    check(body);
    return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
  const response = {
    ...{ id: '6f1c1c5e-0f6e-4f0e-9a51-6e6f3f0f8d21', promptId: null, prompt: null, engine: null },
    ...{ createdAt: '2026-03-15T09:30:00Z', brandMentioned: null, brandPosition: null, brandSentiment: null },
    ...{ competitors: null, citations: [] },
  };
  const page = (changes: object): unknown => ({ data: [{ ...response, ...changes }], nextCursor: null });

  test('has the types that upstream sends, and does not require fields that upstream leaves out', () => {
    const observed = createObservedForms([
      ['responses', FIELD_FORMS.value('responses.createdAt'), 'YYYY-MM-DD HH:MM:SS'],
      ['responses', FIELD_FORMS.value('responses.brandPosition'), 'text'],
      ['responses', FIELD_FORMS.empty('responses.brandSentiment'), 'absent'],
      ['responses', FIELD_FORMS.varies('responses.citations.position'), 'true'],
    ]);
    const resource = declarations.find(({ name }) => name === 'responses') as ResourceDeclaration;
    const writers = createFieldWriters(['responses'], observed);
    const check = ajv.compile(bodySchema(resource, declarations, { served: { isBare: false, writers } }));
    const { brandSentiment: _, ...without } = response;
    const citation = { url: 'https://example.com/', domain: 'example.com', title: null };
    const sent = { ...without, createdAt: '2026-03-15 09:30:00', brandPosition: '2' };
    const body = (item: object) => ({ data: [item], nextCursor: null });
    for (const position of ['1', 1, {}]) {
      expect(check(body({ ...sent, citations: [{ ...citation, position }] })), JSON.stringify(check.errors)).toBe(true);
    }
    expect(check(body({ ...sent, citations: [citation] }))).toBe(true);
    expect(check(body({ ...sent, brandPosition: 2 }))).toBe(false);
    const { engine: __, ...incomplete } = sent;
    expect(check(body(incomplete))).toBe(false);
  });

  test('requires every field, and allows null except in keys and in the time of a window', () => {
    expect(errorsOf('responses', page({}))).toEqual([]);
    expect(errorsOf('responses', page({ id: null }))).toEqual(['/data/0/id must be string']);
    expect(errorsOf('responses', page({ createdAt: null }))).toEqual(['/data/0/createdAt must be string']);
    for (const field of Object.keys(response)) {
      const { [field as keyof typeof response]: _, ...others } = response;
      const missing = `/data/0 must have required property '${field}'`;
      expect(errorsOf('responses', { data: [others], nextCursor: null })).toEqual([missing]);
    }
  });

  test('allows null in nullable keys, and not in numbers that the server computes', () => {
    const row = { entityType: 'brand', competitorId: null, name: null, visibility: null, shareOfVoice: null };
    const report = {
      from: '2026-03-01',
      to: '2026-03-15',
      responses: 0,
      data: [{ ...row, avgPosition: 1, sentiment: 0 }],
    };
    expect(errorsOf('metrics', report)).toEqual([]);
    expect(errorsOf('metrics', { ...report, responses: null })).toEqual(['/responses must be integer']);
  });

  test('has exactly the envelope that is served', () => {
    expect(errorsOf('brands', { data: [] })).toEqual([]);
    expect(errorsOf('brands', [])).toEqual([' must be object']);
    expect(errorsOf('brands', [], true)).toEqual([]);
    expect(errorsOf('brands', { data: [] }, true)).toEqual([' must be array']);
    expect(JSON.stringify(declarations.map(({ name }) => servedSchemaOf(name)))).not.toMatch(/anyOf|oneOf|allOf/);
  });
});

function fieldsIn(schema: unknown): unknown[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = 'properties' in schema ? Object.values(schema.properties as Record<string, unknown>) : [];
  return [...own, ...Object.values(schema).flatMap(fieldsIn)];
}
