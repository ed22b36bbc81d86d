import { isRecord } from '../../../base/json.ts';
import { addDays } from '../../../contract/time.ts';
import { pointChoices } from '../conventions.ts';
import { DAY_ROW, fieldValues, GROUP, identityOf, membersOf, PROMPT, rowsOf, valuesOf } from './facts.ts';
import type { BrandVocabulary, CalibrationPoint, Compared, Facts, ProbeQuestion } from './point.ts';
import {
  days,
  earlyRangeOf,
  filteredGroups,
  filtersOf,
  narrowGroups,
  narrowPrompts,
  questions,
  rangeOf,
  responsesOf,
  totals,
} from './report-points.ts';

const deletedPrompts: CalibrationPoint<'deletedPrompts'> = {
  name: 'deletedPrompts',
  about: 'whether deleted prompts stay in their groups',
  resources: ['metrics', 'metrics_groups'],
  candidates: pointChoices.deletedPrompts,
  facts: (response, question) =>
    question.resource === 'metrics' ? responsesOf(response, question) : valuesOf(response, GROUP, 'responses'),
  probes: (brand) => [
    ...questions(brand, 'metrics_groups', 'groups of deleted prompts', [
      { groupBy: 'branded' },
      { groupBy: 'topic', ...earlyRangeOf(brand, 14) },
      { groupBy: 'tag', ...earlyRangeOf(brand, 14) },
    ]),
    ...questions(brand, 'metrics', 'filters by groups of deleted prompts', filtersOf(brand)),
  ],
};

const deletedPromptRows: CalibrationPoint<'deletedPromptRows'> = {
  name: 'deletedPromptRows',
  about: 'whether deleted prompts with responses have a row',
  resources: ['metrics_prompts'],
  candidates: pointChoices.deletedPromptRows,
  facts: (response) => membersOf(response, PROMPT),
  probes: (brand) => questions(brand, 'metrics_prompts', 'rows of deleted prompts', [{}, earlyRangeOf(brand, 7)]),
};

const currentDay: CalibrationPoint<'currentDay'> = {
  name: 'currentDay',
  about: 'whether the responses of the current day are counted',
  resources: ['metrics', 'metrics_daily'],
  candidates: pointChoices.currentDay,
  facts: responsesOf,
  // Responses of the current day arrive all the time, so only the reports of a sync are compared.
  probes: () => [],
};

const repeatedMentions: CalibrationPoint<'repeatedMentions'> = {
  name: 'repeatedMentions',
  about: 'how a response counts that mentions a competitor twice',
  resources: ['metrics_daily'],
  candidates: pointChoices.repeatedMentions,
  isPartial: true,
  facts: (response) => ({
    kind: 'values',
    values: new Map(
      rowsOf(response).flatMap((row) =>
        ['mentions', 'avgPosition', 'sentiment'].map((name): [string, unknown] => [
          `${name} ${identityOf(row, DAY_ROW)}`,
          row[name] ?? null,
        ]),
      ),
    ),
  }),
  probes: days,
};

const outsideDays: CalibrationPoint<'outsideDays'> = {
  name: 'outsideDays',
  about: 'whether days before the creation of the brand have rows',
  resources: ['metrics_daily'],
  candidates: pointChoices.outsideDays,
  facts: (response) => membersOf(response, DAY_ROW),
  probes: (brand) =>
    questions(
      brand,
      'metrics_daily',
      'days before the creation of the brand',
      [2, 60, 360].map((days) => {
        const from = addDays(brand.first, -days);
        return { from, to: addDays(from, 2), breakdown: 'none' };
      }),
    ),
};

/** Points about the top competitors in the row of a prompt: their ids, in any order. */
const topPoints: readonly CalibrationPoint[] = (
  [
    ['topCompetitorsBrand', "whether the brand is one of a prompt's top competitors"],
    ['topCompetitorsDeleted', "whether deleted competitors are among a prompt's top competitors"],
    ['topCompetitorsUnmentioned', "whether competitors without mentions are among a prompt's top competitors"],
    ['emptyTop', 'the list of top competitors if there are none'],
  ] as const
).map(([name, about]): CalibrationPoint => ({
  name,
  about,
  resources: ['metrics_prompts'],
  candidates: pointChoices[name],
  facts: topIds,
  probes: (brand) => [
    ...questions(brand, 'metrics_prompts', 'top competitors', [
      ...[7, 4, 2].map((days) => earlyRangeOf(brand, days)),
      ...brand.engines.slice(0, 2).map((engine) => ({ engine, ...earlyRangeOf(brand, 3) })),
      {},
    ]),
    ...narrowPrompts(brand),
  ],
}));

function topIds(response: Compared): Facts {
  const idsOf = (top: unknown): unknown =>
    Array.isArray(top)
      ? top
          .filter(isRecord)
          .map((rival) => identityOf(rival, ['competitorId']))
          .sort()
      : null;
  return {
    kind: 'values',
    values: new Map(rowsOf(response).map((row) => [identityOf(row, PROMPT), idsOf(row['topCompetitors'])])),
  };
}

/** Points about the change of visibility. */
const changePoints: readonly CalibrationPoint[] = (
  [
    ['changePeriod', 'the earlier range of a change', pointChoices.changePeriod],
    ['changeFromZero', 'the relative change from a visibility of 0', pointChoices.changeFromZero],
  ] as const
).map(([name, about, candidates]): CalibrationPoint => ({
  name,
  about,
  resources: ['metrics_prompts', 'metrics_groups'],
  candidates,
  isPartial: true,
  facts: (response, question) => fieldValues(response, question, 'visibilityChange'),
  probes: (brand) => changeQuestions(brand),
}));

const EMPTY_CHANGES = {
  emptyChange: 'the change of visibility since a range without responses',
  changeToEmpty: 'the change of visibility to a range without responses',
} as const;

// The change between two ranges without responses depends on both.
const emptyChanges: CalibrationPoint = {
  name: 'emptyChange',
  about: Object.values(EMPTY_CHANGES).join('; '),
  members: EMPTY_CHANGES,
  resources: ['metrics_prompts', 'metrics_groups'],
  candidates: ([null, 0, 'visibility'] as const).flatMap((emptyChange) =>
    pointChoices.changeToEmpty.map((changeToEmpty) => ({ emptyChange, changeToEmpty })),
  ),
  isPartial: true,
  facts: (response, question) => fieldValues(response, question, 'visibilityChange'),
  probes: (brand) => changeQuestions(brand),
};

function changeQuestions(brand: BrandVocabulary): ProbeQuestion[] {
  const ranges = [rangeOf(brand, 10), rangeOf(brand, 5), rangeOf(brand, 2)];
  return [
    ...questions(brand, 'metrics_prompts', 'changes', ranges),
    ...narrowPrompts(brand),
    ...narrowGroups(brand),
    ...filteredGroups(brand),
  ];
}

const citationCount: CalibrationPoint<'citationCount'> = {
  name: 'citationCount',
  about: 'how a response counts that cites a page or a domain several times',
  resources: ['cited_domains', 'cited_urls'],
  candidates: pointChoices.citationCount,
  facts: (response, { resource }) => valuesOf(response, [resource === 'cited_urls' ? 'url' : 'domain'], 'citations'),
  probes: (brand) =>
    ['cited_domains', 'cited_urls'].flatMap((resource) =>
      questions(brand, resource, 'citations', [{ limit: '200' }, { limit: '200', ...rangeOf(brand, 3) }]),
    ),
};

const trafficTotals: CalibrationPoint<'trafficTotals'> = {
  name: 'trafficTotals',
  about: 'whether the totals of visits follow a filter by source',
  resources: ['traffic'],
  candidates: pointChoices.trafficTotals,
  facts: ({ body }) => {
    const sums = isRecord(body) && isRecord(body['totals']) ? body['totals'] : {};
    const names = ['aiSessions', 'keyEvents', 'revenue', 'shareOfSite'];
    return { kind: 'values', values: new Map(names.map((name) => [name, sums[name] ?? null])) };
  },
  probes: (brand) =>
    questions(
      brand,
      'traffic',
      'totals of one source',
      ['assistant-a', 'assistant-b', 'other-ai'].map((source) => ({ ...rangeOf(brand, 14), source })),
    ),
};

const countedResponses: CalibrationPoint<'countedResponses'> = {
  name: 'countedResponses',
  about: 'whether responses of deleted and paused prompts are counted',
  resources: ['metrics', 'metrics_daily'],
  candidates: pointChoices.countedResponses,
  facts: responsesOf,
  probes: (brand) => [...totals(brand), ...days(brand)],
};

/** Points about which responses, mentions, citations and visits count. */
export const countPoints: readonly CalibrationPoint[] = [
  countedResponses,
  currentDay,
  deletedPrompts,
  repeatedMentions,
  deletedPromptRows,
  outsideDays,
  ...topPoints,
  ...changePoints,
  emptyChanges,
  citationCount,
  trafficTotals,
] as readonly CalibrationPoint[];
