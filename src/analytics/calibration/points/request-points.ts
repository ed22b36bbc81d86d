import { NO_ID, type RequestRules } from '../../../contract/query-parameters.ts';
import { addDays, RANGE_DAYS_MAX } from '../../../contract/time.ts';
import { pointChoices } from '../conventions.ts';
import { isEmpty, rowsOf, statusOf } from './facts.ts';
import {
  type BrandVocabulary,
  type CalibrationPoint,
  type Compared,
  combinationsOf,
  type Facts,
  type ProbeQuestion,
  type ReportQuestion,
} from './point.ts';
import { rangeOf } from './report-points.ts';

const UNKNOWN_SLUG = 'no-such-engine';
const NOT_A_UUID = 'not-a-uuid';
/** Days by which a range ends in the future, if it ended at a complete day before. */
const FUTURE_DAYS = 30;
/** Days of a range that is longer than the API allows. */
const LONG_DAYS = 400;
/** Limit above the maximum of each list, and the list whose rows may be more than its maximum. */
const OVER_LIMIT = { resource: 'responses', limit: '101' } as const;

type RequestPoint = keyof RequestRules;
type Parameters = Readonly<Record<string, string>>;

interface Asked {
  readonly about: string;
  readonly resource: string;
  query(brand: BrandVocabulary): Parameters;
  /** Makes the valid parameters of a report invalid in this way; undefined if the response would not be that of the report otherwise. */
  spoil?(query: Parameters, resource: string): Parameters | null;
  /** Whether a question is about the point. */
  concerns(query: Parameters): boolean;
}

const dayOf = ({ last }: BrandVocabulary): Parameters => ({ from: last, to: last });

const LIMITED = ['cited_domains', 'cited_urls'];
const FILTERED = ['metrics', 'metrics_daily', 'metrics_prompts', 'metrics_groups'];
const REPORTS = [...LIMITED, ...FILTERED, 'traffic'];

/** Points that one request decides. */
const single: Readonly<Partial<Record<RequestPoint, Asked>>> = {
  unknownParameter: {
    about: 'a parameter that the endpoint does not have',
    resource: 'metrics',
    query: (brand) => ({ ...dayOf(brand), unknown: 'x' }),
    spoil: (query) => ({ ...query, unknown: 'x' }),
    concerns: ({ unknown }) => unknown !== undefined,
  },
  invalidDay: {
    about: 'a day that is not a calendar day',
    resource: 'metrics',
    query: ({ last }) => ({ from: noDayBefore(last), to: last }),
    spoil: ({ to, ...others }) => (to === undefined ? null : { ...others, from: noDayBefore(to), to }),
    concerns: ({ from = '' }) => from.endsWith('-02-30'),
  },
  invalidLimit: {
    about: 'a limit that is not a whole number of at least 1',
    resource: 'cited_urls',
    query: (brand) => ({ ...rangeOf(brand, 30), limit: '0' }),
    spoil: (query, resource) => (LIMITED.includes(resource) ? { ...query, limit: '0' } : null),
    concerns: ({ limit }) => limit === '0',
  },
  overRange: {
    about: 'a range of more than 366 days',
    resource: 'metrics',
    query: ({ last }) => ({ from: addDays(last, 1 - LONG_DAYS), to: last }),
    // Daily rows of so many days are too long to be kept.
    spoil: (query, resource) =>
      query['to'] === undefined || resource === 'metrics_daily'
        ? null
        : { ...query, from: addDays(query['to'], 1 - LONG_DAYS) },
    concerns: ({ from = '', to = '' }) => isDay(from) && isDay(to) && addDays(from, RANGE_DAYS_MAX) <= to,
  },
  reversedRange: {
    about: 'a range that ends before it begins',
    resource: 'metrics',
    query: ({ last }) => ({ from: last, to: addDays(last, -1) }),
    spoil: ({ from = '', to = '', ...others }) => (from < to ? { ...others, from: to, to: from } : null),
    concerns: ({ from = '', to = '' }) => isDay(from) && isDay(to) && from > to,
  },
  invalidChoice: {
    about: 'a value that a parameter does not allow',
    resource: 'metrics',
    query: (brand) => ({ ...dayOf(brand), branded: 'unknown' }),
    spoil: (query, resource) =>
      FILTERED.includes(resource) && query['branded'] === undefined ? { ...query, branded: 'unknown' } : null,
    concerns: ({ branded }) => branded === 'unknown',
  },
  futureRange: {
    about: 'a range that ends in the future',
    resource: 'metrics',
    query: ({ last }) => ({ from: last, to: addDays(last, FUTURE_DAYS) }),
    spoil: ({ from = '', to = '', ...others }) =>
      isDay(from) && isDay(to) && from <= to && addDays(to, FUTURE_DAYS) < addDays(from, RANGE_DAYS_MAX)
        ? { ...others, from, to: addDays(to, FUTURE_DAYS) }
        : null,
    // A range that ends before the present is answered alike by all candidates.
    concerns: ({ from = '', to = '' }) => isDay(from) && isDay(to) && addDays(from, FUTURE_DAYS - 1) <= to,
  },
  overLimit: {
    about: 'a limit above the maximum',
    resource: OVER_LIMIT.resource,
    query: (brand) => ({ ...rangeOf(brand, RANGE_DAYS_MAX), limit: OVER_LIMIT.limit }),
    concerns: ({ limit }) => limit === OVER_LIMIT.limit,
  },
  invalidBrandId: {
    about: 'a brand in the path that is not a UUID',
    resource: 'competitors',
    query: () => ({ brandId: NOT_A_UUID }),
    concerns: ({ brandId }) => brandId === NOT_A_UUID,
  },
};

// The last 30 February before a day.
function noDayBefore(day: string): string {
  const year = Number(day.slice(0, 4)) - (day.slice(5) < '03' ? 1 : 0);
  return `${year}-02-30`;
}

interface Joint {
  readonly name: RequestPoint;
  readonly members: Readonly<Partial<Record<RequestPoint, string>>>;
  readonly resources: readonly string[];
  /** Questions in the order in which they are asked, best first. */
  queries(
    brand: BrandVocabulary,
  ): readonly { readonly resource: string; readonly query: Parameters; readonly about: RequestPoint }[];
  /** Writes an id or a slug of a report's filters in upper case; null if there is none. */
  spoil(query: Parameters): Parameters | null;
  concerns(query: Parameters): boolean;
}

/**
 * Points that depend on each other: an id in upper case is answered like an unknown id, if upstream compares ids exactly. The first
 * questions decide two of them if upstream's answer is not the usual one.
 */
const joint: readonly Joint[] = [
  {
    name: 'unknownEngine',
    members: {
      engineCase: 'a filter by an engine in upper case',
      unknownEngine: 'a filter by an engine that does not exist',
    },
    resources: REPORTS,
    queries: (brand) => {
      const [engine] = brand.engines.filter((slug) => slug !== slug.toUpperCase());
      const upper = engine === undefined ? [] : [{ ...rangeOf(brand), engine: engine.toUpperCase() }];
      return [
        ...upper.map((query) => ({ resource: 'metrics', query, about: 'engineCase' as const })),
        { resource: 'metrics', query: { ...dayOf(brand), engine: UNKNOWN_SLUG }, about: 'unknownEngine' },
      ];
    },
    spoil: (query) => inUpperCase(query, ['engine']),
    concerns: ({ engine = '' }) => engine === UNKNOWN_SLUG || engine !== engine.toLowerCase(),
  },
  {
    name: 'unknownPrompt',
    members: {
      unknownPrompt: 'a filter by a prompt that does not exist',
      unknownGroup: 'a filter by a topic or tag that does not exist',
      unknownCompetitor: 'a filter by a competitor that does not exist',
      invalidId: 'a filter by an id that is not a UUID',
      idCase: 'an id in upper case',
    },
    resources: [...FILTERED, 'responses'],
    queries: (brand) => {
      const range = dayOf(brand);
      const metrics = (about: RequestPoint, filter: Parameters) => ({
        resource: 'metrics',
        query: { ...range, ...filter },
        about,
      });
      const responses = (about: RequestPoint, competitorId: string) => ({
        resource: 'responses',
        query: { ...range, competitorId, limit: '1' },
        about,
      });
      const upper = (name: string, [id]: readonly string[]): Parameters[] =>
        id === undefined || id === id.toUpperCase() ? [] : [{ ...rangeOf(brand), [name]: id.toUpperCase() }];
      return [
        ...upper('promptId', brand.promptIds).map((query) => ({
          resource: 'metrics',
          query,
          about: 'idCase' as const,
        })),
        metrics('invalidId', { topicId: NOT_A_UUID }),
        responses('unknownCompetitor', NO_ID),
        metrics('unknownPrompt', { promptId: NO_ID }),
        metrics('unknownGroup', { topicId: NO_ID }),
        metrics('invalidId', { promptId: NOT_A_UUID }),
        responses('invalidId', NOT_A_UUID),
        ...upper('topicId', brand.topicIds).map((query) => ({ resource: 'metrics', query, about: 'idCase' as const })),
      ];
    },
    spoil: (query) => inUpperCase(query, ['tagId', 'topicId', 'promptId']),
    concerns: isAboutIds,
  },
];

function inUpperCase(query: Parameters, names: readonly string[]): Parameters | null {
  const [name, value] = Object.entries(query).find(([one, id]) => names.includes(one) && id !== id.toUpperCase()) ?? [];
  return name === undefined || value === undefined ? null : { ...query, [name]: value.toUpperCase() };
}

function isAboutIds(query: Parameters): boolean {
  return ['promptId', 'topicId', 'tagId', 'competitorId'].some((name) => query[name] !== undefined);
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text);
}

// The status, the echoed range, the number of rows under a limit, and otherwise whether there are any.
function factsOf(response: Compared, { query }: ReportQuestion, isConcerned: boolean): Facts {
  if (!isConcerned) return { kind: 'values', values: new Map() };
  const values = statusOf(response, ['from', 'to']);
  if (response.status === 200)
    values.set('rows', query['limit'] === undefined ? isEmpty(response) : rowsOf(response).length);
  return { kind: 'values', values };
}

function spoilt(question: ProbeQuestion, query: Parameters | null, about: string): ProbeQuestion | null {
  return query === null ? null : { ...question, query, reason: `${question.reason}; ${about}` };
}

const singlePoints = Object.entries(single).map(
  ([name, { about, resource, query, spoil, concerns }]): CalibrationPoint => ({
    name: name as RequestPoint,
    about,
    resources: spoil === undefined ? [resource] : REPORTS,
    candidates: pointChoices[name as RequestPoint],
    isAboutRequests: true,
    facts: (response, question) => factsOf(response, question, concerns(question.query)),
    probes: (brand) => [{ resource, brandId: brand.id, query: query(brand), reason: about }],
    spoil: (question) => spoilt(question, spoil?.(question.query, question.resource) ?? null, about),
  }),
);

const jointPoints = joint.map(({ name, members, resources, queries, spoil, concerns }): CalibrationPoint => ({
  name,
  about: Object.values(members).join('; '),
  members,
  resources,
  candidates: combinationsOf(Object.keys(members) as RequestPoint[]),
  isAboutRequests: true,
  facts: (response, question) => factsOf(response, question, concerns(question.query)),
  spoil: (question) => spoilt(question, spoil(question.query), members.idCase ?? members.engineCase ?? ''),
  probes: (brand): ProbeQuestion[] =>
    queries(brand).map(({ about, ...question }) => ({
      ...question,
      brandId: brand.id,
      reason: members[about] ?? about,
    })),
}));

// It matters only if unknown ids are rejected.
const deletedIds: CalibrationPoint = {
  name: 'deletedIds',
  about: 'a filter by a deleted prompt or competitor',
  resources: ['metrics', 'responses'],
  candidates: pointChoices.deletedIds,
  isAboutRequests: true,
  facts: (response, question) => factsOf(response, question, isAboutIds(question.query)),
  probes: (brand) =>
    [
      ...brand.deletedPromptIds.map((promptId) => ({ resource: 'metrics', query: { promptId } })),
      ...brand.deletedCompetitorIds.map((competitorId) => ({
        resource: 'responses',
        query: { competitorId, limit: '1' },
      })),
    ].map(({ resource, query: filter }) => ({
      resource,
      brandId: brand.id,
      query: { ...dayOf(brand), ...filter },
      reason: 'a filter by a deleted prompt or competitor',
    })),
};

/** Points about requests that the specification does not define. */
export const requestPoints: readonly CalibrationPoint[] = [...jointPoints, deletedIds, ...singlePoints];
