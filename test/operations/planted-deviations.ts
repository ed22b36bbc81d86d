import type { Alteration, Body, Row } from './deviating-upstream.ts';

/** An alteration of upstream's responses, and how a comparison must report it. */
export interface Deviation extends Alteration {
  readonly name: string;
  readonly resource: string;
  /** Part of the reported field. */
  readonly field: string;
}

const rowsOf = (body: Body): Row[] => body.data ?? [];
const first =
  (change: (row: Row) => void) =>
  (body: Body): Body => {
    const [row] = rowsOf(body);
    if (row !== undefined) change(row);
    return body;
  };
const each =
  (change: (row: Row) => void) =>
  (body: Body): Body => {
    rowsOf(body).forEach(change);
    return body;
  };
const number = (value: unknown): number => Number(value ?? 0);

/** Alterations of responses that a plausible upstream could make. */
export const deviations: readonly Deviation[] = [
  {
    name: 'another title of a page',
    resource: 'cited_urls',
    path: /sources\/urls/,
    alter: first((row) => {
      row['title'] = 'Another title';
    }),
    field: 'title',
  },
  {
    name: 'a page less',
    resource: 'cited_urls',
    path: /sources\/urls/,
    alter: (body) => ({ ...body, data: rowsOf(body).slice(1) }),
    field: 'data[]',
  },
  {
    name: 'one citation more',
    resource: 'cited_urls',
    path: /sources\/urls/,
    alter: first((row) => {
      row['citations'] = number(row['citations']) + 1;
    }),
    field: 'citations',
  },
  {
    name: 'domains in another order',
    resource: 'cited_domains',
    path: /sources\/domains/,
    alter: (body) => ({ ...body, data: rowsOf(body).toReversed() }),
    field: 'order',
  },
  {
    name: 'shares with another rounding',
    resource: 'cited_domains',
    path: /sources\/domains/,
    alter: each((row) => {
      row['share'] = number(row['share']) + 0.04;
    }),
    field: 'share',
  },
  {
    name: 'domains without the prefix www',
    resource: 'cited_domains',
    path: /sources\/domains/,
    alter: each((row) => {
      row['domain'] = `www.${String(row['domain'])}`;
    }),
    field: 'data[]',
  },
  {
    name: 'visibility as a fraction',
    resource: 'metrics',
    path: /\/metrics$/,
    alter: each((row) => {
      row['visibility'] = number(row['visibility']) / 100;
    }),
    field: 'visibility',
  },
  {
    name: 'no number of responses',
    resource: 'metrics',
    path: /\/metrics$/,
    alter: ({ responses: _, ...body }) => body,
    field: 'responses',
  },
  {
    name: 'another name of the brand',
    resource: 'metrics',
    path: /\/metrics$/,
    alter: first((row) => {
      row['name'] = 'Another';
    }),
    field: 'name',
  },
  {
    name: 'null for zero',
    resource: 'metrics',
    path: /\/metrics$/,
    alter: each((row) => {
      if (row['avgPosition'] === null) row['avgPosition'] = 0;
    }),
    field: 'avgPosition',
  },
  {
    name: 'a competitor less',
    resource: 'metrics',
    path: /\/metrics$/,
    alter: (body) => ({ ...body, data: rowsOf(body).slice(0, -1) }),
    field: 'data[]',
  },
  {
    name: 'days in another order',
    resource: 'metrics_daily',
    path: /metrics\/daily/,
    alter: (body) => ({ ...body, data: rowsOf(body).toReversed() }),
    field: 'order',
  },
  {
    name: 'an empty engine',
    resource: 'metrics_daily',
    path: /metrics\/daily/,
    alter: each((row) => {
      row['engine'] ??= 'all';
    }),
    field: 'engine',
  },
  {
    name: 'an echoed range of timestamps',
    resource: 'metrics_daily',
    path: /metrics\/daily/,
    alter: (body) => ({ ...body, from: `${String(body['from'])}T00:00:00Z` }),
    field: 'from',
  },
  {
    name: 'mentions that count twice',
    resource: 'metrics_daily',
    path: /metrics\/daily/,
    alter: first((row) => {
      row['mentions'] = number(row['mentions']) + 1;
    }),
    field: 'mentions',
  },
  {
    name: 'an additional prompt',
    resource: 'metrics_prompts',
    path: /metrics\/prompts/,
    alter: (body) => ({
      ...body,
      data: [...rowsOf(body), { ...rowsOf(body)[0], promptId: '11111111-1111-4111-8111-111111111111' }],
    }),
    field: 'data[]',
  },
  {
    name: 'one top competitor',
    resource: 'metrics_prompts',
    path: /metrics\/prompts/,
    alter: each((row) => {
      row['topCompetitors'] = (row['topCompetitors'] as unknown[]).slice(0, 1);
    }),
    field: 'topCompetitors',
  },
  {
    name: 'changes with the opposite sign',
    resource: 'metrics_prompts',
    path: /metrics\/prompts/,
    alter: each((row) => {
      row['visibilityChange'] = -number(row['visibilityChange']) - 1;
    }),
    field: 'visibilityChange',
  },
  {
    name: 'all prompts of a group',
    resource: 'metrics_groups',
    path: /metrics\/groups/,
    alter: each((row) => {
      row['prompts'] = number(row['prompts']) + 1;
    }),
    field: 'prompts',
  },
  {
    name: 'groups without names',
    resource: 'metrics_groups',
    path: /metrics\/groups/,
    alter: each((row) => {
      row['name'] = null;
    }),
    field: 'name',
  },
  {
    name: 'a rejected grouping',
    resource: 'metrics_groups',
    path: /metrics\/groups/,
    alter: () => 400,
    field: 'status',
  },
  {
    name: 'ids in upper case',
    resource: 'responses',
    path: /\/responses$/,
    alter: each((row) => {
      row['id'] = String(row['id']).toUpperCase();
    }),
    field: 'id',
  },
  {
    name: 'times in whole seconds',
    resource: 'responses',
    path: /\/responses$/,
    alter: each((row) => {
      row['createdAt'] = String(row['createdAt']).replace(/\.\d+Z/, 'Z');
    }),
    field: 'createdAt',
  },
  {
    name: 'a position that starts at 0',
    resource: 'responses',
    path: /\/responses$/,
    alter: each((row) => {
      if (typeof row['brandPosition'] === 'number') row['brandPosition'] -= 1;
    }),
    field: 'brandPosition',
  },
  {
    name: 'a page of half the size',
    resource: 'responses',
    path: /\/responses$/,
    alter: (body) => ({ ...body, data: rowsOf(body).slice(0, Math.floor(rowsOf(body).length / 2)) }),
    field: 'data[]',
  },
  {
    name: 'a field that was not declared',
    resource: 'alerts',
    path: /\/alerts$/,
    alter: each((row) => {
      row['severity'] = 'high';
    }),
    field: 'severity',
  },
  {
    name: 'another status of a thread',
    resource: 'forum_opportunities',
    path: /forum\/opportunities/,
    alter: each((row) => {
      row['status'] = 'archived';
    }),
    field: 'status',
  },
  {
    name: 'paused prompts in the list',
    resource: 'prompts',
    path: /\/prompts$/,
    alter: each((row) => {
      row['active'] = row['active'] !== true;
    }),
    field: 'active',
  },
  {
    name: 'another list of competitors',
    resource: 'competitors',
    path: /\/competitors$/,
    alter: (body) => ({ ...body, data: rowsOf(body).toReversed() }),
    field: 'order',
  },
  {
    name: 'revenue in another currency',
    resource: 'traffic',
    path: /\/traffic$/,
    alter: (body) => ({ ...body, currency: 'XXX' }),
    field: 'currency',
  },
  {
    name: 'an article that is gone',
    resource: 'article',
    path: /\/articles\/[^/]+$/,
    alter: () => 404,
    field: 'status',
  },
  {
    name: 'a second page that repeats the first',
    resource: 'responses',
    path: /\/responses$/,
    rewrite: (query) => query.delete('cursor'),
    field: 'data[]',
  },
  {
    name: 'a filter that is ignored',
    resource: 'responses',
    path: /\/responses$/,
    rewrite: (query) => query.delete('engine'),
    field: 'data[]',
  },
  {
    name: 'another default of the limit',
    resource: 'responses',
    path: /\/responses$/,
    rewrite: (query) => {
      if (!query.has('limit')) query.set('limit', '10');
    },
    field: 'data[]',
  },
  {
    name: 'no further pages',
    resource: 'responses',
    path: /\/responses$/,
    alter: (body) => ({ ...body, nextCursor: null }),
    field: 'nextCursor',
  },
];
