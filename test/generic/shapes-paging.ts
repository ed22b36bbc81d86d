import type { JsonObject } from './exact-json.ts';
import { cursorPaging } from './paging.ts';
import { bare, hoursBefore, listShape, type Making, named, objectSchema, type Shape, schemas } from './shape.ts';

const record = objectSchema({
  id: schemas.uuid,
  title: schemas.text,
  state: { type: 'string', enum: ['open', 'closed'] },
  score: schemas.number,
  createdAt: schemas.time,
});

function makeRecord(index: number, { draw, nowMs }: Making): JsonObject {
  return {
    id: draw.uuid(),
    title: `Title ${index} "${draw.below(1000)}", ünï`,
    state: draw.pick(['open', 'closed']),
    score: draw.below(1000) / 8,
    createdAt: hoursBefore(nowMs, 24 + index),
  };
}

const common = {
  item: record,
  makeOne: makeRecord,
  change: (item: JsonObject) => ({ ...item, title: 'Changed title' }),
  create: (item: JsonObject, draw: Making['draw']) => ({ ...item, id: draw.uuid(), title: 'New title' }),
  columns: { title: 'VARCHAR', score: 'DOUBLE', created_at: 'VARCHAR' },
} as const;

/** Endpoints with the same items and different envelopes and pages. */
export const pagingShapes: readonly Shape[] = [
  listShape({ ...common, title: 'a bare array', path: '/brands/{brandId}/labels', count: 7, envelope: bare }),
  listShape({
    ...common,
    title: 'a list named data',
    path: '/brands/{brandId}/notes',
    count: 9,
    filters: ['state'],
  }),
  listShape({
    ...common,
    title: 'a list named items of the workspace',
    path: '/channels',
    count: 12,
    envelope: named('items'),
    filters: ['state'],
  }),
  listShape({
    ...common,
    title: 'a list two levels deep in the body',
    path: '/brands/{brandId}/audits',
    count: 5,
    envelope: named('data', 'items'),
  }),
  listShape({
    ...common,
    title: 'a cursor named nextCursor',
    path: '/brands/{brandId}/mentions',
    count: 45,
    paging: cursorPaging('cursor', 'limit', ['nextCursor']),
    filters: ['state'],
  }),
  listShape({
    ...common,
    title: 'a page token in snake_case below paging',
    path: '/page_rules',
    count: 25,
    paging: cursorPaging('page_token', 'page_size', ['paging', 'next_page_token']),
  }),
];
