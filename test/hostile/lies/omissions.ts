import { dayOf } from '../../../src/contract/time.ts';
import { NOW_MS } from '../../support/clocks.ts';
import type { Lie } from '../attack.ts';
import { at, edit, editEach, isBrands, isDayCounts, isResponses, reply } from './tell.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- a lie knows the items that it edits
type Items = any[];

/** Sends the chosen items of each list, and no further page. */
const only = (choose: (items: Items) => Items): Lie['tell'] =>
  edit((body) => {
    if (Array.isArray(body)) return choose(body);
    return { ...body, data: choose(body.data), ...('nextCursor' in body ? { nextCursor: null } : {}) };
  });
const half = only((items) => items.slice(0, Math.floor(items.length / 2)));
const empty = only(() => []);
const yesterday = dayOf(NOW_MS - 86_400_000);

/** Lists, counts and details that lack items, alone or inconsistent with each other. */
export const omissionLies: readonly Lie[] = [
  {
    title: 'cuts every list of responses to half, with correct day counts',
    on: isResponses,
    tell: half,
    ends: ['partial'],
    // The counts of a day are equal if the half that is listed has its late responses; then the figures of edited ones differ.
    says: /\d+ counted(, \d+ stored| and stored, other figures differ)/,
  },
  { title: 'sends empty lists of responses always', on: isResponses, tell: empty, ends: ['partial'], says: /counted/ },
  {
    title: 'leaves out the responses of yesterday',
    on: isResponses,
    tell: edit((body) => ({
      ...body,
      data: body.data.filter((row: { createdAt: string }) => !row.createdAt.startsWith(yesterday)),
    })),
    ends: ['partial'],
    says: /counted/,
  },
  {
    title: 'counts no responses on any day',
    on: isDayCounts,
    tell: editEach((row) => Object.assign(row, { responses: 0, mentions: 0 })),
    ends: ['partial'],
    says: /0 counted/,
  },
  { title: 'sends empty day counts', on: isDayCounts, tell: empty, ends: ['partial'], says: /accept-deletions/ },
  {
    title: 'sends empty day counts in the first sync',
    attacks: 'first',
    on: isDayCounts,
    tell: empty,
    ends: ['partial'],
    says: /0 counted/,
  },
  {
    title: 'counts one response too many on every day',
    on: isDayCounts,
    tell: editEach((row) => Object.assign(row, { responses: row.responses + 1 })),
    ends: ['partial'],
    says: /days? differs?/,
  },
  { title: 'returns 500 for the day counts', on: isDayCounts, tell: reply(500), ends: ['partial'], says: /500/ },
  {
    title: 'sends an empty list of brands always',
    world: 'small',
    on: isBrands,
    tell: empty,
    ends: ['partial'],
    says: /no longer lists 2 of 2 stored rows of brands; they stay/,
  },
  {
    title: 'leaves one brand out of the list of brands',
    world: 'small',
    on: isBrands,
    tell: only((brands) => brands.slice(1)),
    ends: ['partial'],
    says: /no longer lists 1 of 2 stored rows of brands/,
  },
  // Up to 10 rows may be deleted at once.
  { title: 'sends empty lists of articles', on: at('/articles'), tell: empty, ends: ['complete', 'partial'] },
  {
    title: 'returns 404 for every detail of a brand',
    attacks: 'first',
    on: ({ path }) => /^\/brands\/[^/]+$/.test(path),
    tell: reply(404),
    ends: ['partial'],
    says: /404/,
  },
  {
    title: 'sends responses without their competitors',
    on: isResponses,
    tell: editEach((row) => Object.assign(row, { competitors: [] })),
    ends: ['partial'],
    says: /other figures differ/,
  },
  {
    title: 'ends every list of responses after its first items',
    attacks: 'first',
    on: isResponses,
    tell: only((items) => items.slice(0, 10)),
    ends: ['partial'],
    says: /days? differs? from upstream's day counts/,
  },
  {
    title: 'sends the first page of responses twice',
    attacks: 'first',
    on: isResponses,
    tell: (exchange, state) => {
      if (exchange.status !== 200) return;
      const key = `${exchange.path} ${exchange.query.get('from')}`;
      if (exchange.query.has('cursor')) {
        exchange.edit((body) => ({ ...body, data: state.get(key) ?? body.data.slice(0, 1) }));
      } else exchange.edit((body) => void state.set(key, body.data));
    },
    ends: ['complete', 'partial'],
  },
  {
    title: 'sends the responses of the other brand',
    world: 'small',
    on: isResponses,
    tell: (exchange, state) => {
      if (exchange.status !== 200) return;
      const lists = (state.get('lists') ?? new Map()) as Map<string, unknown>;
      state.set('lists', lists);
      exchange.edit((body) => {
        lists.set(exchange.path, body.data);
        const other = [...lists].find(([path]) => path !== exchange.path)?.[1];
        return other === undefined ? body : { ...body, data: other, nextCursor: null };
      });
    },
    ends: ['partial'],
  },
  {
    title: 'sends empty lists of responses for one brand',
    world: 'small',
    on: isResponses,
    tell: (exchange, state) => {
      const brand = state.get('brand') ?? exchange.path.split('/')[2];
      state.set('brand', brand);
      if (exchange.path.includes(String(brand))) empty(exchange, state);
    },
    ends: ['partial'],
    says: /counted/,
  },
  {
    title: 'sends responses in another order',
    on: isResponses,
    tell: edit((body) => ({ ...body, data: body.data.toReversed() })),
    ends: ['complete'],
  },
];
