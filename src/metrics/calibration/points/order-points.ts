import { isRecord } from '../../../base/json.ts';
import { CASELESS } from '../../numbers/order.ts';
import type { Orders } from '../conventions.ts';
import { DAY_ROW, ENTITY, GROUP, identityOf, orderOf, PROMPT, rowsOf } from './facts.ts';
import type { CalibrationPoint, Compared, Facts, ReportQuestion } from './point.ts';

type OrderName = keyof Orders;

/** Keys of texts, and the same without regard to case. */
function texts(...keys: readonly string[]): string[] {
  return [...keys, ...keys.map((key) => `${key}${CASELESS}`)];
}

/** Candidate orders of each list, most likely first. The keys are those of `src/metrics/numbers`. */
export const orderCandidates: Readonly<Record<OrderName, readonly (readonly string[])[]>> = {
  entityOrder: [
    ...['listed', ...texts('name'), 'competitorId'].map((key) => ['brand', key]),
    ...['-visibility', '-shareOfVoice', '-mentions'].flatMap((key) =>
      ['listed', ...texts('name'), 'competitorId'].flatMap((tie) => [
        ['brand', key, tie],
        [key, 'brand', tie],
        [key, tie],
      ]),
    ),
  ],
  dayOrder: [
    ['date', 'engine', 'entity'],
    ...['date', '-date'].flatMap((date) =>
      ['engine', 'engineListed', '-engine'].flatMap((engine) => [
        [date, engine, 'entity'],
        [date, 'entity', engine],
      ]),
    ),
    ...['date', '-date'].flatMap((date) => [
      ['engine', date, 'entity'],
      ['entity', date, 'engine'],
      ['entity', date, 'engineListed'],
      ['entity', 'engine', date],
    ]),
  ],
  promptOrder: [
    ['exactVisibility'],
    ['visibility'],
    ['answered', 'exactVisibility'],
    ['answered', 'visibility'],
  ].flatMap((first) =>
    [
      'promptId',
      ...texts('prompt'),
      'listed',
      'createdAt',
      '-createdAt',
      '-responses',
      'responses',
      '-prompt',
      '-promptId',
    ].flatMap((tie) =>
      /responses|createdAt/.test(tie)
        ? ['promptId', ...texts('prompt'), 'listed'].map((last) => [...first, tie, last])
        : [[...first, tie]],
    ),
  ),
  groupOrder: [
    ['listed'],
    ...texts('name').map((name) => [name, 'groupId']),
    ['groupId'],
    ['appearance'],
    ...texts('-name').map((name) => [name, 'groupId']),
    ...[
      '-visibility',
      'visibility',
      '-responses',
      '-prompts',
      '-exactVisibility',
      'exactVisibility',
      '-shareOfVoice',
    ].flatMap((key) => [[key, 'listed'], ...texts('name').map((name) => [key, name, 'groupId']), [key, 'groupId']]),
  ],
  domainOrder: [[], ['-responses'], ['responses']].flatMap((first) =>
    [['domain'], ['-domain'], ['firstTime', 'domain'], ['-lastTime', 'domain'], ['firstSeen'], ['-lastSeen']].map(
      (last) => ['-citations', ...first, ...last],
    ),
  ),
  urlOrder: [
    ['url'],
    ['-url'],
    ...['firstTime', '-lastTime', 'domain', ...texts('title', '-title'), '-responses'].map((key) => [key, 'url']),
    ['firstSeen'],
    ['-lastSeen'],
    ['-responses', '-lastSeen'],
  ].map((last) => ['-citations', ...last]),
  visitOrder: ['date', '-date'].flatMap((date) => [
    [date, 'source'],
    [date, '-source'],
    [date, '-sessions', 'source'],
    [date, 'sessions', 'source'],
    ['source', date],
    ['-sessions', date, 'source'],
  ]),
  topCompetitorOrder: [
    ...texts('name').map((name) => [name]),
    ['listed'],
    ['competitorId'],
    ['brand', 'competitorId'],
    ...texts('name').map((name) => ['brand', name]),
    ...texts('-name').map((name) => [name]),
    ['-competitorId'],
  ].map((last) => ['-mentions', ...last]),
};

/** Sort keys of each order. */
export function keysOf(name: OrderName): string[] {
  return [...new Set(orderCandidates[name].flat().map((key) => key.replace(/^-/, '')))];
}

interface Ordered {
  readonly name: OrderName;
  readonly about: string;
  readonly resources: readonly string[];
  readonly facts: (response: Compared, question: ReportQuestion) => Facts;
}

const lists: readonly Ordered[] = [
  {
    name: 'entityOrder',
    about: 'the order of the brand and its competitors',
    resources: ['metrics', 'metrics_daily'],
    facts: (response, { resource }) => (resource === 'metrics' ? orderOf(response, ENTITY) : entitiesOfDays(response)),
  },
  {
    name: 'dayOrder',
    about: 'the order of daily rows',
    resources: ['metrics_daily'],
    facts: (response) => orderOf(response, DAY_ROW),
  },
  {
    name: 'promptOrder',
    about: 'the order of prompts with equal visibility',
    resources: ['metrics_prompts'],
    facts: (response) => orderOf(response, PROMPT),
  },
  {
    name: 'groupOrder',
    about: 'the order of groups',
    resources: ['metrics_groups'],
    facts: (response) => orderOf(response, GROUP),
  },
  {
    name: 'domainOrder',
    about: 'the order of domains with equally many citations',
    resources: ['cited_domains'],
    facts: (response) => orderOf(response, ['domain']),
  },
  {
    name: 'urlOrder',
    about: 'the order of pages with equally many citations',
    resources: ['cited_urls'],
    facts: (response) => orderOf(response, ['url']),
  },
  {
    name: 'visitOrder',
    about: 'the order of visits',
    resources: ['traffic'],
    facts: (response) => orderOf(response, ['date', 'source']),
  },
  {
    name: 'topCompetitorOrder',
    about: 'the order of competitors with equally many mentions in the row of a prompt',
    resources: ['metrics_prompts'],
    facts: topCompetitors,
  },
];

// The competitors of each day and engine, in order.
function entitiesOfDays(response: Compared): Facts {
  const values = new Map<string, string>();
  for (const row of rowsOf(response)) {
    const day = identityOf(row, ['date', 'engine']);
    values.set(day, `${values.get(day) ?? ''} ${identityOf(row, ['competitorId'])}`);
  }
  return { kind: 'values', values };
}

function topCompetitors(response: Compared): Facts {
  return {
    kind: 'values',
    values: new Map(
      rowsOf(response).map((row) => {
        const rivals = Array.isArray(row['topCompetitors']) ? row['topCompetitors'].filter(isRecord) : [];
        return [
          identityOf(row, PROMPT),
          rivals.map((rival) => identityOf(rival, ['competitorId', 'mentions'])).join(', '),
        ];
      }),
    ),
  };
}

/** Points about the order of rows. */
export const orderPoints: readonly CalibrationPoint[] = lists.map(({ name, about, resources, facts }) => ({
  name,
  about,
  resources,
  isPartial: true,
  isOrder: true,
  candidates: orderCandidates[name],
  facts,
}));
