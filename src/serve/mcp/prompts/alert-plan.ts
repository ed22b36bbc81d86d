import { COUNT_OF_RESPONSES } from '../../../analytics/model/measures.ts';
import type { Named } from '../../../base/choose-name.ts';
import { addDays } from '../../../contract/time.ts';
import { brandFact, call, type Days, daysFact, ignoreAfter, required, shown, WEEK_DAYS } from './plan-parts.ts';
import type { Alert, Plan, Prompt } from './planned-prompt.ts';

/** Explains an alert with the stored responses of the weeks before and after it. */
export const explainAlert: Prompt = {
  name: 'explain_alert',
  title: 'Explain alert',
  about: 'Whether the stored responses support an alert, and what caused it.',
  arguments: { brand: true, alert: false },
  plan: ({ brand: given, alert: found, completeTo }) => {
    const brand = required(given, 'brand');
    const alert = required(found, 'alert');
    const { range, before } = aroundDay(alert.day, completeTo);
    const both = { from: before.before_from, to: range.to, brand: [brand.id] };
    return {
      task: `Explain the alert ${JSON.stringify(alert.name ?? alert.id)} of the brand ${shown(brand)}.`,
      facts: alertFacts(brand, alert, range, before),
      calls: [
        call('The days around the alert.', 'query_metrics', {
          metrics: ['visibility', COUNT_OF_RESPONSES],
          grain: 'day',
          ...both,
        }),
        call('The causes of the change of visibility.', 'explain_change', {
          metric: 'visibility',
          brand: brand.id,
          ...range,
          ...before,
        }),
        ...aboutAlert(alert, brand, both),
        call(`Other events of these days. ${ignoreAfter(range.to)}`, 'what_changed', {
          since: before.before_from,
          brand: [brand.id],
        }),
        call('The recorded versions of the alert.', 'query', {
          sql: `SELECT valid_from, change, headline, detail, previous, current FROM alerts_history WHERE id = '${alert.id}' ORDER BY valid_from`,
        }),
      ],
      form: [
        'One sentence: the stored responses support the alert, contradict it, or are too few to decide.',
        'The numbers before and after, with n, interval and p.',
        'The causes, the largest effect first, with ids of responses, or the statement that the change is noise.',
        'Events that may be related, without a claim of cause.',
        'One next step.',
      ],
    };
  },
};

type DaysBefore = { readonly before_from: string; readonly before_to: string };

// Returns at most 7 days from the alert on, and the 7 days before them. If the day of the alert is not complete yet, the later period is the 7
// days up to it.
function aroundDay(day: string, completeTo: string): { readonly range: Days; readonly before: DaysBefore } {
  const end = addDays(day, WEEK_DAYS - 1);
  const from = completeTo < day ? addDays(day, 1 - WEEK_DAYS) : day;
  const to = completeTo < day ? day : completeTo < end ? completeTo : end;
  return { range: { from, to }, before: { before_from: addDays(from, -WEEK_DAYS), before_to: addDays(from, -1) } };
}

function alertFacts(brand: Named, alert: Alert, range: Days, before: DaysBefore): Plan['facts'] {
  return [
    brandFact(brand),
    ['Alert', `id ${alert.id}, type ${alert.type}, detected on ${alert.day}`],
    ...(alert.detail === null ? [] : [['Detail, as reported by the API', JSON.stringify(alert.detail)] as const]),
    daysFact(range),
    ['Compared with', `${before.before_from} to ${before.before_to}`],
  ];
}

function aboutAlert({ competitorId, domain }: Alert, brand: Named, both: object): Plan['calls'] {
  const days = { grain: 'week', ...both };
  return [
    ...(competitorId === null
      ? []
      : [
          call('Responses that mention the competitor of the alert.', 'query_metrics', {
            metrics: [COUNT_OF_RESPONSES, 'visibility'],
            where: { competitor: competitorId },
            ...days,
          }),
        ]),
    ...(domain === null
      ? []
      : [
          call(`Citations of each domain. Look for ${JSON.stringify(domain)}.`, 'query_metrics', {
            metrics: ['citing_responses'],
            group_by: ['domain'],
            ...both,
            order: ['-citing_responses'],
            limit: 50,
          }),
        ]),
    ...(competitorId === null && domain === null
      ? [
          call('The visibility in each engine.', 'query_metrics', {
            metrics: ['visibility'],
            group_by: ['engine'],
            ...days,
            brand: [brand.id],
          }),
        ]
      : []),
  ];
}
