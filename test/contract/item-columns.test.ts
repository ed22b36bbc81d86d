import { describe, expect, test } from 'vitest';
import { formOfEndpoint } from '../../src/contract/generic/generic-form.ts';
import { columnsOfSchema, extendColumns } from '../../src/contract/generic/item-columns.ts';
import { chooseKey } from '../../src/contract/generic/item-key.ts';
import { type DocumentEndpoint, readEndpoints } from '../../src/contract/openapi/document-endpoints.ts';
import { readSchema } from '../../src/contract/openapi/schema-form.ts';

const kindsOf = (columns: ReturnType<typeof extendColumns>) =>
  Object.fromEntries(columns.map(({ name, kind }) => [name, kind]));

describe('columns', () => {
  const integer = { type: 'integer' };
  const kinds = {
    Call: { type: 'object', properties: { kind: { const: 'call' }, minutes: integer, phone: { type: 'string' } } },
    Visit: {
      type: 'object',
      properties: { minutes: { type: 'string' }, place: { $ref: '#/components/schemas/Place' } },
    },
    Place: { type: 'object', properties: { city: { type: ['string', 'null'] }, latitude: { type: 'number' } } },
  };
  const oneOf = ['Call', 'Visit'].map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const schema = readSchema({ components: { schemas: kinds } }, { oneOf });

  test('have the members of all variants of a schema, and the kinds that items show', () => {
    const known = columnsOfSchema(schema, ['phone']);
    expect(kindsOf(known)).toEqual({ minutes: 'text', phone_2: 'text', place_city: 'text', place_latitude: 'number' });
    const items = [
      { phone: 7, place: 'home', extra: null, score: 1 },
      { score: 0.5, place: { city: ['a'] } },
    ];
    expect(kindsOf(extendColumns(known, items, ['phone']))).toEqual({
      ...kindsOf(known),
      place: 'text',
      place_city: 'json',
      score: 'number',
    });
  });

  test('have plain and distinct names', () => {
    const item = {
      'first-name': 1,
      LastName: 1,
      HTTPStatus: 1,
      ID: 1,
      Id: 1,
      id: 1,
      '1st': 1,
      'Ünï x': 1,
      ключ: 1,
      _deleted_at: 1,
    };
    expect(extendColumns([], [item], ['_deleted_at']).map(({ name }) => name)).toEqual([
      'first_name',
      'last_name',
      'http_status',
      'id',
      'id_2',
      'id_3',
      '_1st',
      'u_ni_x',
      'field',
      'deleted_at',
    ]);
  });

  test('end after 250', () => {
    const item = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`f${index}`, index]));
    expect(extendColumns([], [item], [])).toHaveLength(250);
  });
});

test.each<[string, string[], object[]]>([
  [
    'a member named id',
    ['id'],
    [
      { name: 'a', id: 1 },
      { name: 'b', id: 2 },
    ],
  ],
  [
    'a member named after the list',
    ['reviewId'],
    [
      { reviewId: 'r1', stars: 5 },
      { reviewId: 'r2', stars: 5 },
    ],
  ],
  [
    'a slug',
    ['slug'],
    [
      { label: 'A', slug: 'a' },
      { label: 'A', slug: 'b' },
    ],
  ],
  [
    'an id with a team, if the id repeats',
    ['id', 'team'],
    [1, 2].flatMap((id) => ['x', 'y'].map((team) => ({ team, id }))),
  ],
  [
    'no member of items whose id may be null',
    [],
    [
      { id: 'a', note: 'x' },
      { id: null, note: 'x' },
    ],
  ],
  ['no member of equal items', [], [1, 2, 3, 4].map(() => ({ level: 'info' }))],
])('the key is %s', (_what, key, items) => {
  expect(chooseKey(extendColumns([], items, []), items, 'review')).toEqual(key);
});

test('tables have names that no other table has', () => {
  const nameOf = (path: string) => {
    const [endpoint] = readEndpoints({ paths: { [path]: { get: { responses: {} } } } }).endpoints;
    const taken = new Set(['alerts', 'channels', 'n']);
    return formOfEndpoint(endpoint as DocumentEndpoint, '/brands', { resources: taken, tables: taken }).name;
  };
  expect(['/notes', '/alerts', '/brands/{id}/channels', '/series/search', '/tags/{tagId}', '/1/n'].map(nameOf)).toEqual(
    ['notes', 'workspace_alerts', 'brand_channels', 'series', 'tag_details', 'n1_n'],
  );
});
