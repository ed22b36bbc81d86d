import { describe, expect, test } from 'vitest';
import { readSchema, type SchemaForm } from '../../../src/contract/openapi/schema-form.ts';

const document = {
  components: {
    schemas: {
      Base: { type: 'object', properties: { id: { type: 'string', format: 'uuid' } }, required: ['id'] },
      Named: {
        allOf: [
          { $ref: '#/components/schemas/Base' },
          { properties: { name: { type: 'string' } }, required: ['name'] },
        ],
      },
      'a/b~c': { type: 'integer' },
      Tree: { type: 'object', properties: { child: { $ref: '#/components/schemas/Tree' } } },
      Self: { $ref: '#/components/schemas/Self' },
    },
  },
};

const read = (schema: unknown): SchemaForm => readSchema(document, schema);
const typesOf = (schema: unknown): string[] => [...read(schema).types].sort();

describe('null', () => {
  test.each([
    ['a list of types of OpenAPI 3.1', { type: ['string', 'null'] }],
    ['nullable of OpenAPI 3.0', { type: 'string', nullable: true }],
    ['a variant of anyOf', { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    ['the first variant of oneOf', { oneOf: [{ type: 'null' }, { type: 'string' }] }],
  ])('is one of the types: %s', (_title, schema) => {
    expect(typesOf(schema)).toEqual(['null', 'string']);
  });

  test('keeps the format and the required members of the other variant', () => {
    const { format } = read({ anyOf: [{ type: 'null' }, { type: 'string', format: 'date' }] });
    expect(format).toBe('date');
    const { required } = read({ oneOf: [{ $ref: '#/components/schemas/Base' }, { type: 'null' }] });
    expect([...required]).toEqual(['id']);
  });
});

test('allOf has the members of all parts, and oneOf requires the members that all variants require', () => {
  const named = read({ $ref: '#/components/schemas/Named' });
  expect([...named.fields.keys()]).toEqual(['id', 'name']);
  expect([...named.required].sort()).toEqual(['id', 'name']);
  const either = read({
    oneOf: [
      { $ref: '#/components/schemas/Base' },
      { type: 'object', properties: { id: { type: 'integer' }, other: {} } },
    ],
  });
  expect([...(either.fields.get('id')?.types ?? [])].sort()).toEqual(['integer', 'string']);
  expect([...either.required]).toEqual([]);
});

test('references with escaped names are followed', () => {
  expect(typesOf({ $ref: '#/components/schemas/a~1b~0c' })).toEqual(['integer']);
});

test('an enum and a const give the allowed values as text', () => {
  expect(read({ type: 'string', enum: ['a', 'b', null, 'a'] }).values).toEqual(['a', 'b']);
  expect(read({ const: 7 }).values).toEqual(['7']);
  expect(read({ enum: [{ a: 1 }] }).values).toBeNull();
});

test.each([
  ['a reference to itself', { $ref: '#/components/schemas/Self' }],
  ['a missing reference', { $ref: '#/components/schemas/Missing' }],
  ['a reference to a prototype', { $ref: '#/constructor/prototype' }],
  ['a reference to another document', { $ref: 'https://api.example.com/schema.json#/Base' }],
  ['a text', 'string'],
  ['a wrong type', { type: 'strange' }],
])('a schema that cannot be read allows all values: %s', (_title, schema) => {
  expect(read(schema)).toMatchObject({ format: null, values: null, items: null });
  expect(typesOf(schema)).toEqual([]);
});

test('a circular schema ends at a bounded depth', () => {
  let depth = 0;
  let form: SchemaForm | undefined = read({ $ref: '#/components/schemas/Tree' });
  while (form !== undefined && depth < 100) {
    form = form.fields.get('child');
    depth += 1;
  }
  expect(depth).toBeLessThan(20);
});

test('a schema with exponentially many parts is read within its bound', () => {
  const schemas: Record<string, unknown> = { S0: { type: 'object', properties: { a: { type: 'string' } } } };
  for (let level = 1; level <= 8; level++) {
    const properties = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`p${index}`, { $ref: `#/components/schemas/S${level - 1}` }]),
    );
    schemas[`S${level}`] = { type: 'object', properties };
  }
  let parts = 0;
  const countParts = ({ fields }: SchemaForm): void => {
    parts += 1;
    for (const field of fields.values()) countParts(field);
  };
  countParts(readSchema({ components: { schemas } }, { $ref: '#/components/schemas/S8' }));
  expect(parts).toBeLessThan(200_000);
});

test('members with names of prototypes are read like others', () => {
  const properties = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"integer"}}') as unknown;
  const { fields } = read({ type: 'object', properties });
  expect([...fields.keys()]).toEqual(['__proto__', 'constructor']);
  expect([...(fields.get('__proto__')?.types ?? [])]).toEqual(['string']);
});
