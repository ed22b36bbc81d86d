import { isRecord } from '../../../base/json.ts';
import { addDays, earlierDay, laterDay } from '../../../contract/time.ts';
import { pointChoices } from '../conventions.ts';
import { DAY_ROW, ENTITY, GROUP, identityOf, membersOf, PROMPT, rowsOf, valuesOf } from './facts.ts';
import {
  type BrandVocabulary,
  type CalibrationPoint,
  type Compared,
  combinationsOf,
  type Facts,
  type ProbeQuestion,
  type ReportQuestion,
} from './point.ts';

/** Returns the range of all complete days of a brand, at most `days`. */
export function rangeOf({ first, last }: BrandVocabulary, days = 60): { from: string; to: string } {
  return { from: laterDay(addDays(last, 1 - days), first), to: last };
}

/** Returns the items of lists in turn. */
export function interleave<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat();
}

/** Returns the range of the first days of a brand, in which responses to deleted prompts and mentions of deleted competitors are likely. */
export function earlyRangeOf({ first, last }: BrandVocabulary, days: number): { from: string; to: string } {
  return { from: first, to: earlierDay(addDays(first, days - 1), last) };
}

export function questions(
  brand: BrandVocabulary,
  resource: string,
  reason: string,
  queries: readonly Readonly<Record<string, string>>[],
): ProbeQuestion[] {
  return queries.map((query) => ({ resource, brandId: brand.id, query: { ...rangeOf(brand), ...query }, reason }));
}

/** Returns the filters by prompts that select something. */
export function filtersOf({ tagIds, topicIds, promptIds }: BrandVocabulary): Record<string, string>[] {
  return [
    ...tagIds.slice(0, 3).map((tagId) => ({ tagId })),
    ...topicIds.slice(0, 2).map((topicId) => ({ topicId })),
    { branded: 'branded' },
    { branded: 'non-branded' },
    ...promptIds.slice(0, 1).map((promptId) => ({ promptId })),
  ];
}

const groupings = ['tag', 'topic', 'funnelStage', 'branded'] as const;

/** Group reports under filters by prompts. */
export function filteredGroups(brand: BrandVocabulary): ProbeQuestion[] {
  const queries = filtersOf(brand).flatMap((filter) => groupings.map((groupBy) => ({ ...filter, groupBy })));
  return questions(brand, 'metrics_groups', 'groups under a filter', queries);
}

/** Group reports under a filter by engine, and of short ranges, in which some prompts have no response. */
export function narrowGroups(brand: BrandVocabulary): ProbeQuestion[] {
  const engines = brand.engines.slice(0, 2).map((engine) => ({ engine }));
  const day = { from: brand.last, to: brand.last };
  const narrow = [...engines.map((engine) => ({ ...engine, ...day })), ...engines, day];
  const queries = narrow.flatMap((query) => groupings.map((groupBy) => ({ ...query, groupBy })));
  return questions(brand, 'metrics_groups', 'groups with prompts that have no response', queries);
}

export function narrowPrompts(brand: BrandVocabulary): ProbeQuestion[] {
  const engines = brand.engines.slice(0, 2).map((engine) => ({ engine, from: brand.last, to: brand.last }));
  return questions(brand, 'metrics_prompts', 'prompts without responses', [
    { from: brand.last, to: brand.last },
    ...engines,
  ]);
}

export function days(brand: BrandVocabulary): ProbeQuestion[] {
  return questions(brand, 'metrics_daily', 'rows of a few days', [
    rangeOf(brand, 7),
    { ...rangeOf(brand, 7), breakdown: 'none' },
  ]);
}

export function totals(brand: BrandVocabulary): ProbeQuestion[] {
  return questions(brand, 'metrics', 'totals of all days', [
    {},
    rangeOf(brand, 7),
    { from: brand.first, to: brand.first },
  ]);
}

/** Totals of so few responses that some competitors are not mentioned. */
function promptDays(brand: BrandVocabulary): ProbeQuestion[] {
  const day = { from: brand.last, to: brand.last };
  const queries = brand.promptIds.slice(0, 2).map((promptId) => ({ ...day, promptId }));
  return questions(brand, 'metrics', 'totals of few responses', queries);
}

/** A range without responses. */
export function emptyRanges({ id, emptyDay }: BrandVocabulary): ProbeQuestion[] {
  if (emptyDay === null) return [];
  return [
    { resource: 'metrics', brandId: id, query: { from: emptyDay, to: emptyDay }, reason: 'a range without responses' },
  ];
}

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
  probes: (brand) =>
    questions(brand, 'cited_urls', 'titles of cited pages', [
      { limit: '200' },
      { ...rangeOf(brand, 14), limit: '200' },
    ]),
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
  probes: (brand) => interleave([narrowGroups(brand), filteredGroups(brand)]),
};

const groupMembers: CalibrationPoint<'groupMembers'> = {
  name: 'groupMembers',
  about: 'the responses of a group under a filter by prompts',
  resources: ['metrics_groups'],
  candidates: pointChoices.groupMembers,
  facts: (response) => valuesOf(response, GROUP, 'responses'),
  probes: filteredGroups,
};

const groupRows: CalibrationPoint<'groupRows'> = {
  name: 'groupRows',
  about: 'whether groups without responses have a row',
  resources: ['metrics_groups'],
  candidates: pointChoices.groupRows,
  facts: (response) => membersOf(response, GROUP),
  probes: (brand) => interleave([narrowGroups(brand), filteredGroups(brand)]),
};

const filteredGroupsPoint: CalibrationPoint<'filteredGroups'> = {
  name: 'filteredGroups',
  about: 'the groups under a filter of their own kind',
  resources: ['metrics_groups'],
  candidates: pointChoices.filteredGroups,
  facts: (response) => membersOf(response, GROUP),
  probes: filteredGroups,
};

const promptRows: CalibrationPoint<'promptRows'> = {
  name: 'promptRows',
  about: 'whether prompts without responses have a row',
  resources: ['metrics_prompts'],
  candidates: pointChoices.promptRows,
  facts: (response) => membersOf(response, PROMPT),
  probes: narrowPrompts,
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
  probes: (brand) => [...totals(brand), ...days(brand)],
};

const unmentioned: CalibrationPoint<'unmentioned'> = {
  name: 'unmentioned',
  about: 'whether competitors without mentions have a row',
  resources: ['metrics', 'metrics_daily'],
  candidates: pointChoices.unmentioned,
  facts: (response, { resource }) => membersOf(response, resource === 'metrics' ? ENTITY : DAY_ROW),
  probes: (brand) => [...promptDays(brand), ...days(brand), ...totals(brand)],
};

const emptyRange: CalibrationPoint<'emptyRange'> = {
  name: 'emptyRange',
  about: 'whether a range without responses has rows',
  resources: ['metrics'],
  candidates: pointChoices.emptyRange,
  facts: (response) => membersOf(response, ENTITY),
  probes: emptyRanges,
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
