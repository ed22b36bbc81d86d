import type { RequestRules } from '../../../contract/query-parameters.ts';
import { addDays } from '../../../contract/time.ts';
import { pointChoices } from '../conventions.ts';
import { rowsOf, statusOf } from './facts.ts';
import type { BrandVocabulary, CalibrationPoint, Compared, Facts } from './point.ts';
import { rangeOf } from './report-points.ts';

/** An id that no resource of upstream has. */
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';
const UNKNOWN_SLUG = 'no-such-engine';
/** Days of a range that is longer than the API allows. */
const LONG_DAYS = 400;

type RequestPoint = keyof RequestRules;

interface Asked {
  readonly name: RequestPoint;
  readonly about: string;
  readonly resource: string;
  query(brand: BrandVocabulary): Readonly<Record<string, string>>;
  /** Whether the numbers of the response are evidence; not for a range whose data still change. */
  readonly hasNumbers?: false;
  /** Whether a question is about the point. */
  concerns(query: Readonly<Record<string, string>>): boolean;
}

const asked: readonly Asked[] = [
  {
    name: 'overLimit',
    about: 'a limit above the maximum',
    resource: 'cited_urls',
    query: (brand) => ({ ...rangeOf(brand), limit: '201' }),
    concerns: ({ limit }) => Number(limit) > 200,
  },
  {
    name: 'overRange',
    about: 'a range of more than 366 days',
    resource: 'metrics',
    query: ({ last }) => ({ from: addDays(last, 1 - LONG_DAYS), to: last }),
    concerns: ({ from, to }) => from !== undefined && to !== undefined && addDays(from, 366) <= to,
  },
  {
    name: 'reversedRange',
    about: 'a range that ends before it begins',
    resource: 'metrics',
    query: ({ last }) => ({ from: last, to: addDays(last, -1) }),
    concerns: ({ from, to }) => from !== undefined && to !== undefined && from > to,
  },
  {
    name: 'futureRange',
    about: 'a range that ends in the future',
    resource: 'metrics',
    query: ({ last }) => ({ from: last, to: addDays(last, 30) }),
    hasNumbers: false,
    concerns: ({ from, to }) =>
      from !== undefined && to !== undefined && addDays(from, 29) <= to && addDays(from, 60) > to,
  },
  {
    name: 'unknownParameter',
    about: 'a parameter that the endpoint does not have',
    resource: 'metrics',
    query: ({ last }) => ({ from: last, to: last, unknown: 'x' }),
    concerns: ({ unknown }) => unknown !== undefined,
  },
  {
    name: 'invalidChoice',
    about: 'a value that a parameter does not allow',
    resource: 'metrics',
    query: ({ last }) => ({ from: last, to: last, branded: 'unknown' }),
    concerns: ({ branded }) => branded === 'unknown',
  },
  {
    name: 'unknownEngine',
    about: 'a filter by an engine that does not exist',
    resource: 'metrics',
    query: ({ last }) => ({ from: last, to: last, engine: UNKNOWN_SLUG }),
    concerns: ({ engine }) => engine === UNKNOWN_SLUG,
  },
  {
    name: 'unknownId',
    about: 'a filter by an id that does not exist',
    resource: 'metrics',
    query: ({ last }) => ({ from: last, to: last, topicId: UNKNOWN_ID }),
    concerns: ({ topicId }) => topicId === UNKNOWN_ID,
  },
];

// The status, the echoed range and the number of rows and responses; no facts for questions about other points.
function factsOf(response: Compared, isConcerned: boolean, hasNumbers: boolean): Facts {
  if (!isConcerned) return { kind: 'values', values: new Map() };
  const values = statusOf(response, hasNumbers ? ['from', 'to', 'responses'] : ['from', 'to']);
  if (hasNumbers && response.status === 200) values.set('rows', rowsOf(response).length);
  return { kind: 'values', values };
}

/** Points about requests that the specification does not define. */
export const requestPoints: readonly CalibrationPoint[] = asked.map(
  ({ name, about, resource, query, concerns, hasNumbers = true }): CalibrationPoint => ({
    name,
    about,
    resources: [resource],
    candidates: pointChoices[name],
    facts: (response, question) => factsOf(response, concerns(question.query), hasNumbers),
    probes: (brand) => [{ resource, brandId: brand.id, query: query(brand), reason: about }],
  }),
);
