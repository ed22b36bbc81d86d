import type { JsonObject } from './exact-json.ts';
import { cursorPaging, unpaged } from './paging.ts';
import { listShape, named, objectItself, objectSchema, type Shape, schemas } from './shape.ts';

function makeSurvey(index: number): JsonObject {
  return {
    id: `s${index}`,
    tags: Array.from({ length: index % 3 }, (_, at) => `tag ${at}`),
    scores: [index, index + 0.5, null],
    questions: Array.from({ length: index % 4 }, (_, at) => ({
      text: `Question ${at}`,
      weight: at / 4,
      choices: [{ label: 'yes' }, { label: 'no', note: null }],
    })),
    author: { name: 'A', address: { city: 'Jena', location: { point: { latitude: 50.9 + index, longitude: 11.6 } } } },
    matrix: [
      [1, 2],
      [3, index],
    ],
  };
}

const surveySchema = objectSchema({
  id: schemas.text,
  tags: { type: 'array', items: schemas.text },
  scores: { type: 'array', items: { type: ['number', 'null'] } },
  questions: {
    type: 'array',
    items: objectSchema({
      text: schemas.text,
      weight: schemas.number,
      choices: {
        type: 'array',
        items: objectSchema({ label: schemas.text, note: { type: ['string', 'null'] } }, ['note']),
      },
    }),
  },
  author: objectSchema({
    name: schemas.text,
    address: objectSchema({
      city: schemas.text,
      location: objectSchema({ point: objectSchema({ latitude: schemas.number, longitude: schemas.number }) }),
    }),
  }),
  matrix: { type: 'array', items: { type: 'array', items: schemas.integer } },
});

/** Endpoints whose items have values of different forms. */
export const valueShapes: readonly Shape[] = [
  listShape({
    title: 'types that widen on the second page',
    path: '/brands/{brandId}/measurements',
    count: 20,
    paging: cursorPaging('cursor', 'limit', ['nextCursor']),
    item: objectSchema({
      id: schemas.integer,
      value: schemas.integer,
      ratio: schemas.integer,
      flag: schemas.flag,
      day: schemas.day,
      extra: {},
    }),
    makeOne: (index) => ({
      id: index,
      value: index < 10 ? index : `n/a ${index}`,
      ratio: index < 10 ? index : index + 0.25,
      flag: index < 10 ? true : 'maybe',
      day: index < 10 ? '2026-01-02' : 'sometime',
      extra: index < 10 ? 'text' : { nested: [index] },
    }),
    change: (item) => ({ ...item, ratio: 0.125 }),
    create: (item) => ({ ...item, id: 200, value: 'new' }),
    columns: { value: 'VARCHAR', ratio: 'DOUBLE', flag: 'VARCHAR', day: 'VARCHAR' },
  }),
  listShape({
    title: 'nested arrays, arrays of scalars and objects four levels deep',
    path: '/brands/{brandId}/surveys',
    count: 8,
    item: surveySchema,
    makeOne: makeSurvey,
    change: (item) => ({ ...item, author: { name: 'B', address: null } }),
    create: (item) => ({ ...item, id: 's-new' }),
    columns: { author_name: 'VARCHAR', author_address_city: 'VARCHAR' },
  }),
  listShape({
    title: 'no schema in the document',
    path: '/brands/{brandId}/webhooks',
    count: 5,
    item: undefined,
    envelope: named('webhooks'),
    makeOne: (index, { draw }) => ({
      id: draw.uuid(),
      url: `https://hooks.invalid/${index}`,
      retries: index,
      active: true,
    }),
    change: (item) => ({ ...item, retries: 50 }),
    create: (item, draw) => ({ ...item, id: draw.uuid() }),
    columns: { url: 'VARCHAR', retries: 'BIGINT', active: 'BOOLEAN' },
  }),
  {
    title: 'an empty schema and an object without members',
    path: '/brands/{brandId}/flags',
    item: {},
    envelope: objectItself,
    paging: unpaged,
    isObject: true,
    make: () => [{}],
    change: () => ({ beta: true }),
    create: (item) => item,
  },
  listShape({
    title: 'extreme numbers and texts',
    path: '/brands/{brandId}/extremes',
    count: 6,
    item: objectSchema({ id: schemas.integer, amount: schemas.number, text: schemas.text }),
    makeOne: (index) => ({
      id: index - 3,
      amount: [0, -0.1, 1e300, 5e-324, 123_456_789.123_456_78, -1e21][index] ?? 0,
      text: ['', ' ', 'a\u0000b', '\u2028"\\', '😀'.repeat(50), 'null'][index] ?? '',
    }),
    change: (item) => ({ ...item, amount: 0.3 }),
    create: (item) => ({ ...item, id: 9_007_199_254_740_991 }),
  }),
];
