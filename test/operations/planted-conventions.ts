import type { Alteration, Body, Row } from './deviating-upstream.ts';

/** An alteration of responses that one convention explains. */
interface PlantedConvention extends Alteration {
  readonly name: string;
  readonly resource: string;
  readonly requests: number;
  /** The reported convention. */
  readonly convention: string;
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
    name: 'the order of equally cited pages',
    resource: 'cited_urls',
    requests: 20,
    rewrite: (query) => {
      if (Number(query.get('limit') ?? 0) <= 200) query.set('limit', '200');
    },
    alter: (body, url) => {
      const rows = (body.data ?? []).toSorted(
        first((a, b) => Number(b['citations']) - Number(a['citations']), byText('url', -1)),
      );
      return { ...body, data: rows.slice(0, Number(url.searchParams.get('limit') ?? 50)) };
    },
    convention: 'urlOrder: -citations, -url',
  },
  {
    name: 'the order of groups',
    resource: 'metrics_groups',
    requests: 20,
    alter: sorted(first(byText('name'), byText('groupId'))),
    convention: 'groupOrder: name, groupId',
  },
  {
    name: 'the order of competitors',
    resource: 'metrics',
    requests: 20,
    alter: sorted(first(brandFirst, byText('competitorId'))),
    convention: 'entityOrder: brand, competitorId',
  },
  {
    name: 'no rows of competitors without mentions',
    resource: 'metrics_daily',
    requests: 20,
    alter: (body) => ({
      ...body,
      data: (body.data ?? []).filter((row) => row['competitorId'] === null || row['mentions'] !== 0),
    }),
    convention: 'unmentioned: absent',
  },
  {
    name: 'the engine of combined rows',
    resource: 'metrics_daily',
    requests: 20,
    choices: { combinedEngine: 'all' },
    convention: 'combinedEngine: all',
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
    convention: 'competitorType: rival',
  },
  {
    name: 'all prompts of a group are counted',
    resource: 'metrics_groups',
    requests: 20,
    choices: { groupPrompts: 'all' },
    convention: 'groupPrompts: all',
  },
  {
    name: 'shares of domains of responses',
    resource: 'cited_domains',
    requests: 15,
    choices: { domainShareOf: 'responses' },
    convention: 'domainShare: percent, not rounded, of responses',
  },
  {
    name: 'visibility as a fraction',
    resource: 'metrics_prompts',
    requests: 10,
    choices: { scale: 'fraction' },
    convention: 'visibility: fraction, not rounded',
  },
  {
    name: 'a limit above the maximum is lowered',
    resource: 'cited_urls',
    requests: 60,
    rewrite: (query) => {
      if (Number(query.get('limit')) > 200) query.set('limit', '200');
    },
    convention: 'overLimit: clamped',
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
    convention: 'reversedRange: swapped',
  },
  {
    name: 'an unknown grouping is ignored',
    resource: 'metrics_groups',
    requests: 40,
    rewrite: (query) => {
      if (query.get('groupBy') === 'unknown') query.delete('groupBy');
      if (query.get('branded') === 'unknown') query.delete('branded');
    },
    convention: 'invalidChoice: ignored',
  },
  {
    name: 'an unknown engine has no responses',
    resource: 'metrics_prompts',
    requests: 60,
    choices: { unknownEngine: 'empty' },
    convention: 'unknownEngine: empty',
  },
  {
    name: 'an unknown id is not found',
    resource: 'metrics_prompts',
    requests: 40,
    alter: (body, url) => ([...url.searchParams.values()].includes(UNKNOWN_ID) ? 404 : body),
    convention: 'unknownId: missing',
  },
];
