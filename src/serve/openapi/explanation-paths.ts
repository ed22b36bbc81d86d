import { CHANGE_KINDS } from '../../analytics/explain/history-queries.ts';
import { OPPORTUNITY_KINDS } from '../../analytics/explain/opportunities.ts';
import type { JsonSchema, Refer } from '../../contract/json-schema.ts';
import { OPPORTUNITIES_LISTED, OPPORTUNITIES_MAX, SINCE } from '../../query/metrics/explanation-parameters.ts';
import { DATA_PATHS } from '../http/page-paths.ts';
import type { Json } from './header-objects.ts';
import { ifNoneMatch } from './resource-operation.ts';
import { object, queryParameter, type ServerOperation, text } from './server-operation.ts';

/** Parts of the operations. */
interface ExplanationParts {
  readonly refer: Refer;
  /** The parameters that select responses. */
  readonly scope: readonly Json[];
  /** Returns the successful responses with a JSON body. */
  readonly answered: (description: string, schema: JsonSchema, example: unknown) => Json;
}

/** Returns the operations that explain changes, list changes and list opportunities, by path. */
export function explanationOperations({ refer, scope, answered }: ExplanationParts): Record<string, ServerOperation> {
  const [brand, from, to] = scope as [Json, Json, Json];
  return {
    [DATA_PATHS.explain]: {
      operationId: 'explain_change',
      summary: 'Explanation of a change',
      description: 'Explains the change of a metric of one brand between two periods, with responses as evidence.',
      parameters: [metric, ...scope, ...beforeParameters, ifNoneMatch],
      responses: answered('The explanation.', refer('ChangeExplanation', explanationSchema), explanationExample),
      kind: { reads: true },
    },
    [DATA_PATHS.changes]: {
      operationId: 'list_changes',
      summary: 'Changes since a time',
      description:
        'Lists changes of prompts, sources, articles, forum threads and competitors, newest first. Drift of upstream is listed for keys for all brands.',
      parameters: [since, brand, kinds, ifNoneMatch],
      responses: answered('The changes.', refer('ChangeHistory', historySchema), historyExample),
      kind: { reads: true },
    },
    [DATA_PATHS.opportunities]: {
      operationId: 'list_opportunities',
      summary: 'Opportunities of a brand',
      description: 'Lists domains, prompts, forum threads and pages by which a brand can gain visibility.',
      parameters: [brand, from, to, limit, ifNoneMatch],
      responses: answered('The opportunities.', refer('BrandOpportunities', opportunitiesSchema), opportunitiesExample),
      kind: { reads: true },
    },
  };
}

const day = { type: 'string', format: 'date' };
const time = { type: 'string', format: 'date-time' };
const number = { type: ['number', 'null'] };
const integer = { type: 'integer', minimum: 0 };

const metric: Json = {
  ...queryParameter('metric', 'The metric.', 'visibility', {
    enum: ['visibility', 'share_of_voice', 'position', 'sentiment', 'owned_citations'],
  }),
  required: true,
};
const beforeParameters: readonly Json[] = [
  queryParameter('before_from', 'First day of the earlier period, instead of `compare_to`.', '2026-01-01', day),
  queryParameter('before_to', 'Last day of the earlier period, included.', '2026-01-14', day),
];
const since = queryParameter('since', `A day, a time, or a number of days; default: ${SINCE}.`, '30d');
const kinds = queryParameter('kind', `Kinds of changes, separated by commas: ${CHANGE_KINDS.join(', ')}.`, 'alert');
const limit = queryParameter('limit', `Most opportunities; default: ${OPPORTUNITIES_LISTED}.`, 10, {
  type: 'integer',
  minimum: 1,
  maximum: OPPORTUNITIES_MAX,
});

const freshness = {
  asOf: { type: ['string', 'null'], format: 'date-time', description: 'When the data were last read from upstream.' },
  completeTo: { type: ['string', 'null'], format: 'date', description: 'Last complete day; null if unknown.' },
  partial: { type: 'boolean', description: 'Whether days of the periods were not read completely.' },
};
const freshnessExample = { asOf: '2026-03-15T02:15:00.000Z', completeTo: '2026-03-14', partial: false };
const evidence = { type: 'array', description: 'Ids of at most 5 responses.', items: text };

const values = {
  before: { ...number, description: 'Value in the earlier period; null without data.' },
  after: { ...number, description: 'Value in the later period; null without data.' },
  nBefore: { ...integer, description: 'Responses with data in the earlier period.' },
  nAfter: { ...integer, description: 'Responses with data in the later period.' },
};
const test = {
  change: { ...number, description: 'Difference of the values.' },
  lower: { ...number, description: 'Lower bound of the change.' },
  upper: { ...number, description: 'Upper bound of the change.' },
  level: { type: 'number', description: 'Confidence level of the bounds.' },
  p: { ...number, description: 'Two-sided p value.' },
  adjustedP: { ...number, description: 'p value corrected for the number of tests.' },
  verdict: { enum: ['significant', 'noise', 'not tested'], description: 'Result of the test.' },
};

function listOf(description: string, about: string, properties: Record<string, JsonSchema>): JsonSchema {
  return { type: 'array', description, items: object(properties, about) };
}

const id = { type: ['string', 'null'], description: 'Its id.' };
const name = { ...text, description: 'Its name.' };
const sentence = { ...text, description: 'The result as a sentence.' };
const prompts = object(
  { prompts: { ...integer, description: 'Number of prompts.' }, effect: { type: 'number' }, ...values },
  'A part of the prompts with its effect.',
);

const explanationSchema = object(
  {
    brandId: { ...text, description: 'The brand.' },
    metric: { ...text, description: 'The metric.' },
    isHigherBetter: { type: 'boolean', description: 'False for position.' },
    from: { ...day, description: 'First day of the later period.' },
    to: { ...day, description: 'Last day of the later period.' },
    beforeFrom: { ...day, description: 'First day of the earlier period.' },
    beforeTo: { ...day, description: 'Last day of the earlier period.' },
    summary: sentence,
    total: object({ ...values, ...test }, 'The change with its test.'),
    causes: listOf('Causes with evidence; empty if the change is noise.', 'A cause.', {
      rank: { ...integer, description: 'Place among the causes, from 1.' },
      kind: { ...text, description: 'behaviour, broad, mix, added or removed.' },
      dimension: { ...text, description: 'engine, topic, prompt or all.' },
      id,
      name,
      ...values,
      effect: { type: 'number', description: 'Effect on the total.' },
      sentence,
      evidence,
    }),
    promptSet: {
      description: 'Effects of new and removed prompts; null if no prompt has data in both periods.',
      oneOf: [{ type: 'null' }, object({ panel: prompts, added: prompts, removed: prompts }, 'The set of prompts.')],
    },
    dimensions: listOf('The effects of the members of each dimension add up to the change.', 'A dimension.', {
      dimension: { ...text, description: 'engine, topic or prompt.' },
      mix: { type: 'number', description: 'Mix effect of all members.' },
      rate: { type: 'number', description: 'Rate effect of all members.' },
      members: listOf('The members.', 'A member.', {
        id,
        name,
        ...values,
        ...test,
        effect: { type: 'number', description: 'Effect on the total.' },
      }),
    }),
    associations: listOf('Competitors and domains with a significant change; not causes.', 'An association.', {
      kind: { enum: ['competitor', 'domain'], description: 'What it is associated with.' },
      id,
      name,
      sentence,
      evidence,
    }),
    associationsWithinChance: { ...integer, description: 'Competitors and domains that changed within chance.' },
    ...freshness,
  },
  'The explanation of a change.',
);

const explanationExample = {
  brandId: '3f2b1c9e-0000-4000-8000-000000000001',
  metric: 'visibility',
  isHigherBetter: true,
  from: '2026-02-15',
  to: '2026-03-14',
  beforeFrom: '2026-01-18',
  beforeTo: '2026-02-14',
  summary: 'No significant change: visibility was 39.6 % and is 40.1 % (840 and 840 responses, p = 0.842).',
  total: {
    ...{ before: 0.396, after: 0.401, nBefore: 840, nAfter: 840, change: 0.005, lower: -0.042, upper: 0.052 },
    ...{ level: 0.95, p: 0.842, adjustedP: 0.842, verdict: 'noise' },
  },
  causes: [],
  promptSet: null,
  dimensions: [],
  associations: [],
  associationsWithinChance: 12,
  ...freshnessExample,
};

const historySchema = object(
  {
    since: { ...time, description: 'The time.' },
    changes: listOf('The changes, newest first, at most 200 of a kind.', 'A change.', {
      at: { ...time, description: 'When it was made or first seen.' },
      kind: { enum: CHANGE_KINDS, description: 'Kind of change.' },
      brandId: { ...id, description: 'The brand; null for changes of the whole workspace.' },
      brand: { type: ['string', 'null'], description: 'Name of the brand.' },
      sentence,
      ids: { type: 'object', description: 'Ids of what changed.', additionalProperties: text },
    }),
    counts: { type: 'object', description: 'All changes by kind.', additionalProperties: integer },
  },
  'Changes since a time.',
);

const historyExample = {
  since: '2026-03-08T02:15:00.000Z',
  changes: [
    {
      at: '2026-03-14T02:15:00.000Z',
      kind: 'prompt_added',
      brandId: '3f2b1c9e-0000-4000-8000-000000000001',
      brand: 'Acme',
      sentence: 'Prompt "Which one is best?" was added.',
      ids: { promptId: '3f2b1c9e-0000-4000-8000-000000000002' },
    },
  ],
  counts: { prompt_added: 1 },
};

const opportunitiesSchema = object(
  {
    brandId: { ...text, description: 'The brand.' },
    from: { ...day, description: 'First day.' },
    to: { ...day, description: 'Last day, included.' },
    opportunities: listOf('The opportunities; those that concern most responses first.', 'An opportunity.', {
      rank: { ...integer, description: 'Place in the list, from 1.' },
      kind: { enum: OPPORTUNITY_KINDS, description: 'Kind of opportunity.' },
      id: { ...text, description: 'Domain, prompt, thread or page.' },
      name,
      n: { ...integer, description: 'Responses that it concerns.' },
      sentence,
      evidence,
    }),
    total: { ...integer, description: 'Number of all opportunities.' },
    ...freshness,
  },
  'Opportunities of a brand.',
);

const opportunitiesExample = {
  brandId: '3f2b1c9e-0000-4000-8000-000000000001',
  from: '2026-02-15',
  to: '2026-03-14',
  opportunities: [
    {
      rank: 1,
      kind: 'source_gap',
      id: 'reviews.example.com',
      name: 'reviews.example.com',
      n: 14,
      sentence:
        'reviews.example.com (third party) is cited by 14 responses that mention a competitor but not the brand, and by none that mentions the brand.',
      evidence: ['3f2b1c9e-0000-4000-8000-000000000003'],
    },
  ],
  total: 1,
  ...freshnessExample,
};
