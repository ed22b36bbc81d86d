import { isRecord } from '../../../base/json.ts';
import { pointChoices } from '../choices.ts';
import { conventionSchemas } from '../conventions.ts';
import { DAY_ROW, fieldValues, GROUP, identityOf, membersOf, PROMPT, rowsOf, totalsOf, valuesOf } from './facts.ts';
import { type CalibrationPoint, type Compared, combinationsOf, type Facts } from './point.ts';
import { responsesOf } from './report-points.ts';

const deletedPrompts: CalibrationPoint<'deletedPrompts'> = {
  name: 'deletedPrompts',
  about: 'whether deleted prompts stay in their groups',
  resources: ['metrics', 'metrics_groups'],
  candidates: pointChoices.deletedPrompts,
  facts: (response, question) =>
    question.resource === 'metrics' ? responsesOf(response, question) : valuesOf(response, GROUP, 'responses'),
};

const deletedPromptRows: CalibrationPoint<'deletedPromptRows'> = {
  name: 'deletedPromptRows',
  about: 'whether deleted prompts with responses have a row',
  resources: ['metrics_prompts'],
  candidates: pointChoices.deletedPromptRows,
  facts: (response) => membersOf(response, PROMPT),
};

const currentDay: CalibrationPoint<'currentDay'> = {
  name: 'currentDay',
  about: 'whether the responses of the current day are counted',
  resources: ['metrics', 'metrics_daily'],
  candidates: pointChoices.currentDay,
  facts: responsesOf,
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
};

const outsideDays: CalibrationPoint<'outsideDays'> = {
  name: 'outsideDays',
  about: 'whether days before the creation of the brand have rows',
  resources: ['metrics_daily'],
  candidates: pointChoices.outsideDays,
  facts: (response) => membersOf(response, DAY_ROW),
};

const TOP = {
  topCompetitorsBrand: "whether the brand is one of a prompt's top competitors",
  topCompetitorsDeleted: "whether deleted competitors are among a prompt's top competitors",
  topCompetitorsUnmentioned: "whether competitors without mentions are among a prompt's top competitors",
  emptyTop: 'the list of top competitors if there are none',
} as const;

/** The ids of the top competitors in the row of a prompt, in any order. */
const topPoint: CalibrationPoint = {
  name: 'topCompetitorsBrand',
  about: Object.values(TOP).join('; '),
  members: TOP,
  resources: ['metrics_prompts'],
  candidates: combinationsOf(Object.keys(TOP) as (keyof typeof TOP)[]),
  facts: topIds,
};

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
  candidates: [...conventionSchemas.emptyChange.values].flatMap((emptyChange) =>
    pointChoices.changeToEmpty.map((changeToEmpty) => ({ emptyChange, changeToEmpty })),
  ),
  isPartial: true,
  facts: (response, question) => fieldValues(response, question, 'visibilityChange'),
};

const citationCount: CalibrationPoint<'citationCount'> = {
  name: 'citationCount',
  about: 'how a response counts that cites a page or a domain several times',
  resources: ['cited_domains', 'cited_urls'],
  candidates: pointChoices.citationCount,
  facts: (response, { resource }) => valuesOf(response, [resource === 'cited_urls' ? 'url' : 'domain'], 'citations'),
};

const trafficTotals: CalibrationPoint<'trafficTotals'> = {
  name: 'trafficTotals',
  about: 'whether the totals of visits follow a filter by source',
  resources: ['traffic'],
  candidates: pointChoices.trafficTotals,
  facts: (response) => {
    const sums = totalsOf(response);
    const names = ['aiSessions', 'keyEvents', 'revenue', 'shareOfSite'];
    return { kind: 'values', values: new Map(names.map((name) => [name, sums[name] ?? null])) };
  },
};

const countedResponses: CalibrationPoint<'countedResponses'> = {
  name: 'countedResponses',
  about: 'whether responses of deleted and paused prompts are counted',
  resources: ['metrics', 'metrics_daily'],
  candidates: pointChoices.countedResponses,
  facts: responsesOf,
};

/** Points about which responses, mentions, citations and visits count. */
export const countPoints: readonly CalibrationPoint[] = [
  countedResponses,
  currentDay,
  deletedPrompts,
  repeatedMentions,
  deletedPromptRows,
  outsideDays,
  topPoint,
  ...changePoints,
  emptyChanges,
  citationCount,
  trafficTotals,
] as readonly CalibrationPoint[];
