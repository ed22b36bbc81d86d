import type { Json, JsonObject } from './exact-json.ts';
import { cursorPaging, unpaged } from './paging.ts';
import { hoursBefore, listShape, named, objectItself, objectSchema, type Shape, schemas } from './shape.ts';

const activityKinds: JsonObject = {
  Call: objectSchema({ id: schemas.integer, kind: { const: 'call' }, minutes: schemas.integer, phone: schemas.text }),
  Mail: objectSchema({ id: schemas.integer, kind: { const: 'mail' }, subject: schemas.text, minutes: schemas.text }),
  Visit: {
    allOf: [
      objectSchema({ id: schemas.integer, kind: { const: 'visit' } }),
      objectSchema({ place: objectSchema({ city: schemas.text, latitude: schemas.number }) }),
    ],
  },
};

function makeActivity(index: number): JsonObject {
  if (index % 3 === 0) return { id: index, kind: 'call', minutes: 5 + index, phone: '+49 1' };
  if (index % 3 === 1) return { id: index, kind: 'mail', subject: `Mail ${index}`, minutes: 'unknown' };
  return { id: index, kind: 'visit', place: { city: 'Köln', latitude: 50.9375 } };
}

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

const leadSchema = objectSchema(
  {
    id: schemas.integer,
    name: { type: ['string', 'null'] },
    age: { type: ['integer', 'null'] },
    score: { anyOf: [schemas.number, { type: 'null' }] },
    active: { type: ['boolean', 'null'] },
    seenAt: { oneOf: [schemas.time, { type: 'null' }] },
    company: { oneOf: [objectSchema({ name: { type: ['string', 'null'] } }), { type: 'null' }] },
    notes: { type: ['array', 'null'], items: objectSchema({ text: schemas.text }) },
  },
  ['name', 'age', 'score', 'active', 'seenAt', 'company', 'notes'],
);

function makeLead(index: number, nowMs: number): JsonObject {
  const full: JsonObject = {
    name: `Lead ${index}`,
    age: 30 + index,
    score: 0.5,
    active: index % 2 === 0,
    seenAt: hoursBefore(nowMs, 30),
    company: { name: index % 4 === 0 ? null : 'Company' },
    notes: [{ text: 'note' }],
  };
  const kept = Object.entries(full).map(([name, value], at): [string, Json] => [
    name,
    (index >> at) & 1 ? value : null,
  ]);
  // Items with an even index omit the members that are null.
  return { id: index, ...Object.fromEntries(kept.filter(([, value]) => index % 2 === 1 || value !== null)) };
}

/** Endpoints whose items have values of different forms. */
export const valueShapes: readonly Shape[] = [
  listShape({
    title: 'times as epoch seconds and milliseconds',
    path: '/brands/{brandId}/sessions',
    count: 6,
    item: objectSchema({
      id: schemas.integer,
      started_at: schemas.integer,
      endedAt: schemas.integer,
      count: schemas.integer,
    }),
    makeOne: (index, { nowMs }) => ({
      id: index,
      started_at: Math.floor(nowMs / 1000) - 86_400 * (index + 1),
      endedAt: nowMs - 86_400_000 * (index + 1) + 1_234,
      count: 1_700_000_000 + index,
    }),
    change: (item) => ({ ...item, count: 1 }),
    create: (item) => ({ ...item, id: 60 }),
    columns: { started_at: 'BIGINT', ended_at: 'BIGINT', count: 'BIGINT' },
  }),
  listShape({
    title: 'items of several kinds with a discriminator',
    path: '/brands/{brandId}/activities',
    count: 9,
    components: activityKinds,
    item: {
      oneOf: Object.keys(activityKinds).map((name) => ({ $ref: `#/components/schemas/${name}` })),
      discriminator: {
        propertyName: 'kind',
        mapping: {
          call: '#/components/schemas/Call',
          mail: '#/components/schemas/Mail',
          visit: '#/components/schemas/Visit',
        },
      },
    },
    makeOne: makeActivity,
    change: (item) => ({ ...item, phone: '+49 2' }),
    create: () => ({ id: 90, kind: 'mail', subject: 'New', minutes: 'none' }),
    columns: { kind: 'VARCHAR', phone: 'VARCHAR', place_city: 'VARCHAR' },
  }),
  listShape({
    title: 'types that widen on the second page',
    path: '/brands/{brandId}/measurements',
    isWrong: true,
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
    title: 'ids that become text on the second page',
    path: '/brands/{brandId}/parcels',
    isWrong: true,
    count: 20,
    paging: cursorPaging('cursor', 'limit', ['nextCursor']),
    item: objectSchema({ id: schemas.integer, weight: schemas.number }),
    makeOne: (index) => ({ id: index < 10 ? index : `P-${index}`, weight: index / 2 }),
    change: (item) => ({ ...item, weight: 1_000.5 }),
    create: () => ({ id: 'P-new', weight: 1 }),
    columns: { id: 'VARCHAR' },
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
    title: 'members that are null or missing',
    path: '/brands/{brandId}/leads',
    count: 128,
    item: leadSchema,
    makeOne: (index, { nowMs }) => makeLead(index, nowMs),
    change: (item) => ({ ...item, name: 'Changed' }),
    create: () => ({ id: 900, name: null }),
    columns: { age: 'BIGINT', active: 'BOOLEAN', company_name: 'VARCHAR' },
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
  listShape({
    title: 'a schema that contradicts the data',
    path: '/brands/{brandId}/devices',
    isWrong: true,
    count: 7,
    item: objectSchema({
      id: schemas.integer,
      name: schemas.text,
      createdAt: schemas.time,
      price: schemas.number,
      tags: schemas.text,
    }),
    makeOne: (index, { draw }) => ({
      id: draw.uuid(),
      createdAt: index % 2 === 0 ? 'yesterday' : 12,
      price: { amount: index, currency: 'EUR' },
      tags: [`t${index}`],
      unannounced: { deep: { deeper: index } },
    }),
    change: (item) => ({ ...item, price: 'free' }),
    create: (item, draw) => ({ ...item, id: draw.uuid() }),
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
