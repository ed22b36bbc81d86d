import type { Alteration, Body, Row } from './deviating-upstream.ts';

/** An alteration of responses that one convention explains. */
interface PlantedConvention extends Alteration {
  readonly name: string;
  readonly resource: string;
  readonly requests: number;
  /** The reported conventions, in alphabetical order. */
  readonly conventions: readonly string[];
}

const text = (row: Row, name: string): string => String(row[name] ?? '');
const byText =
  (name: string, sign = 1) =>
  (a: Row, b: Row): number =>
    text(a, name) < text(b, name) ? -sign : text(a, name) > text(b, name) ? sign : 0;
const first = (...compare: readonly ((a: Row, b: Row) => number)[]): ((a: Row, b: Row) => number) => {
  return (a, b) => compare.map((one) => one(a, b)).find((order) => order !== 0) ?? 0;
};
const sorted = (...compare: readonly ((a: Row, b: Row) => number)[]) => rows((all) => all.toSorted(first(...compare)));
const brandFirst = (a: Row, b: Row): number => Number(a['competitorId'] !== null) - Number(b['competitorId'] !== null);

const rows = (alter: (rows: Row[]) => Row[]) => ({
  alter: (body: Body): Body => ({ ...body, data: alter(body.data ?? []) }),
});

const planted: readonly (readonly [
  name: string,
  resource: string,
  requests: number,
  alteration: Alteration,
  ...conventions: string[],
])[] = [
  [
    'the order of equally cited domains',
    'cited_domains',
    12,
    {
      rewrite: (query) => {
        if (Number(query.get('limit') ?? 0) <= 200) query.set('limit', '200');
      },
      alter: (body, url) => {
        const order = first((a, b) => Number(b['citations']) - Number(a['citations']), byText('domain', -1));
        return {
          ...body,
          data: (body.data ?? []).toSorted(order).slice(0, Number(url.searchParams.get('limit') ?? 50)),
        };
      },
    },
    'domainOrder: citations (descending), then domain (descending)',
  ],
  ['the order of groups', 'metrics_groups', 12, sorted(byText('name'), byText('groupId')), 'groupOrder: name, then id'],
  [
    'the order of competitors',
    'metrics',
    12,
    sorted(brandFirst, byText('competitorId')),
    'entityOrder: the brand first, then id',
  ],
  [
    'no rows of competitors without mentions',
    'metrics_daily',
    12,
    rows((all) => all.filter((row) => row['competitorId'] === null || row['mentions'] !== 0)),
    'unmentioned: absent: they have no row',
  ],
  ['the engine of combined rows', 'metrics_daily', 12, { choices: { combinedEngine: 'all' } }, 'combinedEngine: all'],
  [
    'the entity type of competitors',
    'metrics',
    10,
    rows((all) => all.map((row) => (row['competitorId'] === null ? row : { ...row, entityType: 'rival' }))),
    'competitorType: rival',
  ],
  [
    'all prompts of a group are counted',
    'metrics_groups',
    12,
    { choices: { groupPrompts: 'all' } },
    'groupPrompts: all: all current prompts',
  ],
  [
    'shares of domains of responses',
    'cited_domains',
    8,
    { choices: { domainShareOf: 'responses' } },
    'domainShare: percent, 1 decimal, half-away, of responses',
  ],
  [
    'visibility as a fraction',
    'metrics_prompts',
    24,
    { choices: { scale: 'fraction', decimals: 'none' } },
    'visibility: fraction, 4 decimals, half-away; avgPosition: not rounded; visibilityChange: fraction, not rounded, difference, of exact',
    'visibility: fraction, not rounded',
    'visibility: fraction, not rounded; avgPosition: not rounded; sentiment: not rounded',
  ],
];

/** Alterations that are equal to another candidate of a point that the specification leaves open. */
export const plantedConventions: readonly PlantedConvention[] = planted.map(
  ([name, resource, requests, alteration, ...conventions]) => ({
    name,
    resource,
    requests,
    conventions,
    ...alteration,
  }),
);
