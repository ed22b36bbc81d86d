import { isRecord } from '../../../base/json.ts';
import { type OrderName, orderCandidates } from '../order-candidates.ts';
import { DAY_ROW, ENTITY, GROUP, identityOf, orderOf, PROMPT, rowsOf } from './facts.ts';
import type { CalibrationPoint, Compared, Facts, ReportQuestion } from './point.ts';

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
