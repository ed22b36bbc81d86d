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
  [
    'no rows of competitors without mentions',
    'metrics_daily',
    12,
    rows((all) => all.filter((row) => row['competitorId'] === null || row['mentions'] !== 0)),
    'unmentioned: absent: they have no row',
  ],
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
    'visibility as a fraction',
    'metrics_prompts',
    24,
    { choices: { scale: 'fraction', decimals: 'none' } },
    'visibility: fraction, not rounded',
    'visibility: fraction, not rounded; avgPosition: not rounded; sentiment: not rounded',
    'visibility: fraction, not rounded; avgPosition: not rounded; visibilityChange: fraction, not rounded, difference, of exact',
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
