import type { Alteration, Body, Row } from './deviating-upstream.ts';

/** An alteration of responses that one convention explains. */
interface PlantedConvention extends Alteration {
  readonly name: string;
  readonly resource: string;
  readonly requests: number;
  /** The reported conventions, in alphabetical order. */
  readonly conventions: readonly string[];
}

const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

const sorted =
  (compare: (a: Row, b: Row) => number) =>
  (body: Body): Body => ({ ...body, data: (body.data ?? []).toSorted(compare) });
const text = (row: Row, name: string): string => String(row[name] ?? '');
const byText =
  (name: string, sign = 1) =>
  (a: Row, b: Row): number =>
    text(a, name) < text(b, name) ? -sign : text(a, name) > text(b, name) ? sign : 0;
const first = (...compare: readonly ((a: Row, b: Row) => number)[]): ((a: Row, b: Row) => number) => {
  return (a, b) => compare.map((one) => one(a, b)).find((order) => order !== 0) ?? 0;
};
const brandFirst = (a: Row, b: Row): number => Number(a['competitorId'] !== null) - Number(b['competitorId'] !== null);

/** Alterations that are equal to another candidate of a point that the specification leaves open. */
export const plantedConventions: readonly PlantedConvention[] = [
  {
    name: 'the order of equally cited domains',
    resource: 'cited_domains',
    requests: 12,
    rewrite: (query) => {
      if (Number(query.get('limit') ?? 0) <= 200) query.set('limit', '200');
    },
    alter: (body, url) => {
      const rows = (body.data ?? []).toSorted(
        first((a, b) => Number(b['citations']) - Number(a['citations']), byText('domain', -1)),
      );
      return { ...body, data: rows.slice(0, Number(url.searchParams.get('limit') ?? 50)) };
    },
    conventions: ['domainOrder: citations (descending), then domain (descending)'],
  },
  {
    name: 'the order of groups',
    resource: 'metrics_groups',
    requests: 12,
    alter: sorted(first(byText('name'), byText('groupId'))),
    conventions: ['groupOrder: name, then id'],
  },
  {
    name: 'the order of competitors',
    resource: 'metrics',
    requests: 12,
    alter: sorted(first(brandFirst, byText('competitorId'))),
    conventions: ['entityOrder: the brand first, then id'],
  },
  {
    name: 'no rows of competitors without mentions',
    resource: 'metrics_daily',
    requests: 12,
    alter: (body) => ({
      ...body,
      data: (body.data ?? []).filter((row) => row['competitorId'] === null || row['mentions'] !== 0),
    }),
    conventions: ['unmentioned: absent: they have no row'],
  },
  {
    name: 'the engine of combined rows',
    resource: 'metrics_daily',
    requests: 12,
    choices: { combinedEngine: 'all' },
    conventions: ['combinedEngine: all'],
  },
  {
    name: 'the entity type of competitors',
    resource: 'metrics',
    requests: 10,
    alter: (body) => ({
      ...body,
      data: (body.data ?? []).map((row) => ({
        ...row,
        ...(row['competitorId'] === null ? {} : { entityType: 'rival' }),
      })),
    }),
    conventions: ['competitorType: rival'],
  },
  {
    name: 'all prompts of a group are counted',
    resource: 'metrics_groups',
    requests: 12,
    choices: { groupPrompts: 'all' },
    conventions: ['groupPrompts: all: all current prompts'],
  },
  {
    name: 'shares of domains of responses',
    resource: 'cited_domains',
    requests: 8,
    choices: { domainShareOf: 'responses' },
    conventions: ['domainShare: percent, not rounded, of responses'],
  },
  {
    name: 'visibility as a fraction',
    resource: 'metrics_prompts',
    requests: 10,
    choices: { scale: 'fraction' },
    conventions: [
      'visibility: fraction, not rounded',
      'visibility: fraction, not rounded; visibilityChange: fraction, not rounded, difference, of exact',
    ],
  },
  {
    name: 'a limit above the maximum is lowered',
    resource: 'cited_urls',
    requests: 60,
    rewrite: (query) => {
      if (Number(query.get('limit')) > 200) query.set('limit', '200');
    },
    conventions: ['overLimit: clamped: the maximum is used'],
  },
  {
    name: 'a reversed range is swapped',
    resource: 'metrics',
    requests: 60,
    rewrite: (query) => {
      const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
      if (from <= to) return;
      query.set('from', to);
      query.set('to', from);
    },
    conventions: ['reversedRange: swapped: the two days are swapped'],
  },
  {
    name: 'an unknown grouping is ignored',
    resource: 'metrics_groups',
    requests: 40,
    rewrite: (query) => {
      if (query.get('groupBy') === 'unknown') query.delete('groupBy');
      if (query.get('branded') === 'unknown') query.delete('branded');
    },
    conventions: ['invalidChoice: ignored: the parameter is ignored'],
  },
  {
    name: 'an unknown engine has no responses',
    resource: 'metrics_prompts',
    requests: 60,
    choices: { unknownEngine: 'empty' },
    conventions: ['unknownEngine: empty: a response without rows'],
  },
  {
    name: 'an unknown id is not found',
    resource: 'metrics_prompts',
    requests: 40,
    alter: (body, url) => ([...url.searchParams.values()].includes(UNKNOWN_ID) ? 404 : body),
    conventions: ['unknownGroup: missing: not found'],
  },
];
