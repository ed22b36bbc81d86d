import { isRecord } from '../../../base/json.ts';
import { pointChoices } from '../choices.ts';
import { DAY_ROW, ENTITY, GROUP, identityOf, membersOf, PROMPT, rowsOf, valuesOf } from './facts.ts';
import { type CalibrationPoint, type Compared, combinationsOf, type Facts, type ReportQuestion } from './point.ts';

/** Returns the numbers of responses. */
export function responsesOf(response: Compared, { resource }: ReportQuestion): Facts {
  if (resource !== 'metrics') return valuesOf(response, DAY_ROW, 'responses');
  const responses = isRecord(response.body) ? response.body['responses'] : null;
  return { kind: 'values', values: new Map([['responses', responses ?? null]]) };
}

const urlTitle: CalibrationPoint<'urlTitle'> = {
  name: 'urlTitle',
  about: 'the title of a page that was cited under several',
  resources: ['cited_urls'],
  candidates: pointChoices.urlTitle,
  facts: (response) => membersOf(response, ['url', 'title']),
};

// A wrong value of one explains most numbers with a wrong value of the other, so they are decided together.
const groupPrompts: CalibrationPoint<'groupPrompts'> = {
  name: 'groupPrompts',
  about: 'the prompts that a group counts, also under a filter by prompts',
  members: {
    groupPrompts: 'the prompts that a group counts',
    groupPromptsFilter: 'the prompts that a group counts under a filter by prompts',
  },
  resources: ['metrics_groups'],
  candidates: combinationsOf(['groupPrompts', 'groupPromptsFilter']),
  facts: (response) => valuesOf(response, GROUP, 'prompts'),
};

const groupMembers: CalibrationPoint<'groupMembers'> = {
  name: 'groupMembers',
  about: 'the responses of a group under a filter by prompts',
  resources: ['metrics_groups'],
  candidates: pointChoices.groupMembers,
  facts: (response) => valuesOf(response, GROUP, 'responses'),
};

const groupRows: CalibrationPoint<'groupRows'> = {
  name: 'groupRows',
  about: 'whether groups without responses have a row',
  resources: ['metrics_groups'],
  candidates: pointChoices.groupRows,
  facts: (response) => membersOf(response, GROUP),
};

const filteredGroupsPoint: CalibrationPoint<'filteredGroups'> = {
  name: 'filteredGroups',
  about: 'the groups under a filter of their own kind',
  resources: ['metrics_groups'],
  candidates: pointChoices.filteredGroups,
  facts: (response) => membersOf(response, GROUP),
};

const promptRows: CalibrationPoint<'promptRows'> = {
  name: 'promptRows',
  about: 'whether prompts without responses have a row',
  resources: ['metrics_prompts'],
  candidates: pointChoices.promptRows,
  facts: (response) => membersOf(response, PROMPT),
};

const deletedCompetitors: CalibrationPoint<'deletedCompetitors'> = {
  name: 'deletedCompetitors',
  about: 'whether competitors that are no longer tracked count',
  resources: ['metrics', 'metrics_daily'],
  candidates: pointChoices.deletedCompetitors,
  isPartial: true,
  facts: (response) => {
    const rows = rowsOf(response);
    const brand = rows.filter((row) => (row['competitorId'] ?? null) === null);
    const shares = brand.map((row): [string, unknown] => [
      `share ${String(row['date'])} ${String(row['engine'])}`,
      row['shareOfVoice'] ?? null,
    ]);
    const listed = [...new Set(rows.map((row) => identityOf(row, ['competitorId'])))].sort();
    return { kind: 'values', values: new Map<string, unknown>([...shares, ['competitors', listed]]) };
  },
};

const unmentioned: CalibrationPoint<'unmentioned'> = {
  name: 'unmentioned',
  about: 'whether competitors without mentions have a row',
  resources: ['metrics', 'metrics_daily'],
  candidates: pointChoices.unmentioned,
  facts: (response, { resource }) => membersOf(response, resource === 'metrics' ? ENTITY : DAY_ROW),
};

const emptyRange: CalibrationPoint<'emptyRange'> = {
  name: 'emptyRange',
  about: 'whether a range without responses has rows',
  resources: ['metrics'],
  candidates: pointChoices.emptyRange,
  facts: (response) => membersOf(response, ENTITY),
};

/** Points about the rows and numbers of reports. */
export const reportPoints: readonly CalibrationPoint[] = [
  deletedCompetitors,
  unmentioned,
  emptyRange,
  groupMembers,
  filteredGroupsPoint,
  groupRows,
  groupPrompts,
  promptRows,
  urlTitle,
] as readonly CalibrationPoint[];
