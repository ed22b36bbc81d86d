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
const parameters = (rewrite: (query: URLSearchParams) => void) => ({ rewrite });

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
    'visibility: fraction, not rounded',
    'visibility: fraction, not rounded; avgPosition: not rounded; sentiment: not rounded',
  ],
  [
    'a limit above the maximum is lowered',
    'cited_urls',
    60,
    parameters((query) => {
      if (Number(query.get('limit')) > 200) query.set('limit', '200');
    }),
    'overLimit: clamped: the maximum is used',
  ],
  [
    'a reversed range is swapped',
    'metrics',
    60,
    parameters((query) => {
      const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
      if (from <= to) return;
      query.set('from', to);
      query.set('to', from);
    }),
    'reversedRange: swapped: the two days are swapped',
  ],
  [
    'an unknown grouping is ignored',
    'metrics_groups',
    40,
    parameters((query) => {
      for (const name of ['groupBy', 'branded']) if (query.get(name) === 'unknown') query.delete(name);
    }),
    'invalidChoice: ignored: the parameter is ignored',
  ],
  [
    'an unknown engine has no responses',
    'metrics_prompts',
    60,
    { choices: { unknownEngine: 'empty' } },
    'unknownEngine: empty: a response without rows',
  ],
  [
    'an unknown id is not found',
    'metrics_prompts',
    40,
    { alter: (body, url) => ([...url.searchParams.values()].includes(UNKNOWN_ID) ? 404 : body) },
    'unknownGroup: missing: not found',
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
