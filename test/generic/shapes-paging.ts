import type { JsonObject } from './exact-json.ts';
import {
  cursorPaging,
  linkPaging,
  numberPaging,
  offsetPaging,
  shortPagePaging,
  urlPaging,
  zeroPaging,
} from './paging.ts';
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
  columns: { title: 'VARCHAR', score: 'DOUBLE', created_at: 'TIMESTAMP' },
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
    title: 'a list with the name of its path',
    path: '/brands/{brandId}/promotions',
    count: 6,
    envelope: named('promotions'),
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
    title: 'a cursor named next_cursor that a parameter named after takes',
    path: '/brands/{brandId}/keywords',
    count: 33,
    envelope: named('results'),
    paging: cursorPaging('after', 'limit', ['next_cursor']),
  }),
  listShape({
    ...common,
    title: 'a page token and a path in kebab-case',
    path: '/brands/{brandId}/page-captures',
    count: 21,
    envelope: named('pageCaptures'),
    paging: cursorPaging('pageToken', 'pageSize', ['nextPageToken']),
  }),
  listShape({
    ...common,
    title: 'a page token in snake_case below paging',
    path: '/page_rules',
    count: 25,
    paging: cursorPaging('page_token', 'page_size', ['paging', 'next_page_token']),
  }),
  listShape({
    ...common,
    title: 'an absolute URL of the next page',
    path: '/feeds',
    count: 26,
    paging: urlPaging(['meta', 'next'], true),
  }),
  listShape({
    ...common,
    title: 'a relative URL of the next page',
    path: '/brands/{brandId}/backlinks',
    count: 17,
    paging: urlPaging(['links', 'next'], false),
  }),
  listShape({
    ...common,
    title: 'the header Link',
    path: '/brands/{brandId}/events',
    count: 30,
    envelope: bare,
    paging: linkPaging,
  }),
  listShape({
    ...common,
    title: 'page numbers with has_more',
    path: '/brands/{brandId}/invoices',
    count: 24,
    paging: numberPaging('page', 'per_page', 'has_more'),
  }),
  listShape({
    ...common,
    title: 'page numbers from 0, and a path that ends with an action',
    path: '/series/search',
    count: 27,
    envelope: named('series'),
    paging: zeroPaging,
  }),
  listShape({
    ...common,
    title: 'page numbers until a page is not full',
    path: '/brands/{brandId}/bookmarks',
    count: 19,
    envelope: named('items'),
    paging: shortPagePaging,
  }),
  listShape({
    ...common,
    title: 'page numbers whose last page is full',
    path: '/brands/{brandId}/highlights',
    count: 40,
    envelope: bare,
    paging: shortPagePaging,
  }),
  listShape({
    ...common,
    title: 'an offset, a limit and a total',
    path: '/brands/{brandId}/visitors',
    count: 29,
    envelope: named('items'),
    paging: offsetPaging,
  }),
];
