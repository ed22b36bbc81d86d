import { cursorPaging } from './paging.ts';
import { daysBefore, listShape, named, objectItself, objectSchema, type Shape, schemas } from './shape.ts';

/** Index after which items of the outer lists have no inner items, so that a test can delete the last one. */
const INNER_ITEMS = 3;

function innerCount(parentId: string, count: number): number {
  // The last hexadecimal digit of a parent's id is its index; the last parents have no inner items.
  return Number.parseInt(parentId.slice(-1), 16) < INNER_ITEMS ? count : 0;
}

function idAt(uuid: string, index: number): string {
  return `${uuid.slice(0, -1)}${index.toString(16)}`;
}

const campaigns = listShape({
  title: 'a list whose items have lists of their own',
  path: '/brands/{brandId}/campaigns',
  count: 5,
  envelope: named('campaigns'),
  item: objectSchema({ id: schemas.uuid, name: schemas.text, budget: schemas.number }),
  makeOne: (index, { draw }) => ({
    id: idAt(draw.uuid(), index),
    name: `Campaign ${index}`,
    budget: 100 * index + 0.5,
  }),
  change: (item) => ({ ...item, budget: 9.75 }),
  create: (item, draw) => ({ ...item, id: idAt(draw.uuid(), 15), name: 'New campaign' }),
  columns: { budget: 'DOUBLE' },
});

const adGroups: Shape = {
  ...listShape({
    title: 'a list below the items of another list',
    path: '/brands/{brandId}/campaigns/{campaignId}/ad-groups',
    count: 4,
    envelope: named('adGroups'),
    item: objectSchema({ adGroupId: schemas.text, name: schemas.text, bid: schemas.integer }),
    makeOne: (index, { draw }) => ({ adGroupId: `g-${draw.below(1e9)}-${index}`, name: `Group ${index}`, bid: index }),
    change: (item) => ({ ...item, bid: 77 }),
    create: (item, draw) => ({ ...item, adGroupId: `g-${draw.below(1e9)}-f` }),
  }),
  make: ({ draw, parent }) =>
    Array.from({ length: innerCount(parent[1] ?? '', 4) }, (_, index) => ({
      adGroupId: `g-${draw.below(1e9)}-${index}`,
      name: `Group ${index}`,
      bid: index,
    })),
};

const ads: Shape = {
  ...listShape({
    title: 'a list below the items of a list below another list, with pages',
    path: '/brands/{brandId}/campaigns/{campaignId}/ad-groups/{adGroupId}/ads',
    count: 11,
    paging: cursorPaging('cursor', 'limit', ['next_cursor']),
    item: objectSchema({ id: schemas.integer, headline: schemas.text, clicks: schemas.integer }),
    makeOne: () => ({}),
    change: (item) => ({ ...item, clicks: 123_456 }),
    create: (item, draw) => ({ ...item, id: 5_000_000 + draw.below(1e6) }),
    columns: { clicks: 'BIGINT' },
  }),
  make: ({ draw, parent }) =>
    Array.from({ length: innerCount(parent[2] ?? '', 11) }, (_, index) => ({
      // The same ids below every ad group: only together with the parents they identify a row.
      id: index + 1,
      headline: `Ad ${draw.below(1e6)}`,
      clicks: draw.below(500),
    })),
};

const settingsSchema = objectSchema({
  timeZone: schemas.text,
  weekStart: schemas.integer,
  alerts: objectSchema({ byMail: schemas.flag, threshold: schemas.number }),
});

/** Endpoints of the workspace, of a brand, and below the items of other lists. */
export const scopeShapes: readonly Shape[] = [
  campaigns,
  adGroups,
  ads,
  {
    title: 'an object of a brand without an id',
    path: '/brands/{brandId}/settings',
    item: settingsSchema,
    envelope: objectItself,
    paging: campaigns.paging,
    isObject: true,
    make: ({ draw }) => [
      { timeZone: draw.pick(['UTC', 'Europe/Berlin']), weekStart: 1, alerts: { byMail: true, threshold: 0.25 } },
    ],
    change: (item) => ({ ...item, alerts: { byMail: false, threshold: 0.25 } }),
    create: (item) => item,
    columns: { alerts_by_mail: 'BOOLEAN', alerts_threshold: 'DOUBLE' },
  },
  {
    ...listShape({
      title: 'an endpoint that answers 404 for some brands',
      path: '/brands/{brandId}/stores',
      count: 5,
      item: objectSchema({ id: schemas.uuid, city: schemas.text }),
      makeOne: () => ({}),
      change: (item) => ({ ...item, city: 'Ulm' }),
      create: (_item, draw) => ({ id: draw.uuid(), city: 'Bonn' }),
    }),
    make: ({ draw, parentIndex }) =>
      parentIndex > 0 ? null : Array.from({ length: 5 }, (_, index) => ({ id: draw.uuid(), city: `City ${index}` })),
  },
  listShape({
    title: 'a required parameter with allowed values',
    path: '/brands/{brandId}/leaderboards',
    count: 6,
    variants: { parameter: 'period', values: ['week', 'month', 'quarter'] },
    item: objectSchema({ id: schemas.text, points: schemas.integer }),
    makeOne: (index, { draw }) => ({ id: `player-${index}`, points: draw.below(10) }),
    change: (item) => ({ ...item, points: 4_711 }),
    create: () => ({ id: 'player-new', points: 1 }),
  }),
  listShape({
    title: 'a range of days',
    path: '/brands/{brandId}/uptime',
    count: 20,
    isRange: true,
    item: objectSchema({ date: schemas.day, checks: schemas.integer, failures: schemas.integer }),
    makeOne: (index, { draw, nowMs }) => ({
      date: daysBefore(nowMs, 20 - index),
      checks: 1440,
      failures: draw.below(9),
    }),
    change: (item) => ({ ...item, failures: 1_000 }),
    create: (item) => ({ ...item, date: daysBefore(Date.parse(String(item['date'])), 1) }),
    columns: { date: 'DATE', checks: 'BIGINT' },
  }),
];
