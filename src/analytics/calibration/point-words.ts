import { CASELESS, sortKeyOf } from '../numbers/order.ts';
import type { Conventions, Orders, pointChoices, Rounding } from './conventions.ts';

type ChoiceWords = {
  readonly [Name in keyof typeof pointChoices]: Readonly<Record<Conventions[Name], string>>;
};

/** The values of points in words. */
const choiceWords: ChoiceWords = {
  groupPrompts: {
    answered: 'prompts with responses in the range',
    all: 'all current prompts',
    active: 'current prompts that are not paused',
    known: 'all prompts, also deleted ones',
  },
  groupPromptsFilter: { all: 'whether or not they match the filters', matching: 'those that match the filters' },
  groupRows: {
    answered: 'groups with responses',
    matching: 'groups with a prompt that matches the filters',
    all: 'all groups',
  },
  groupMembers: {
    matching: 'responses to prompts that match the filters',
    all: 'responses to all prompts of the group',
    answered: 'the same, if the matching prompts have responses',
  },
  filteredGroups: { all: 'every group of the matching prompts', filtered: 'only the group that is filtered by' },
  promptRows: {
    answered: 'prompts with responses in the range',
    active: 'prompts that are not paused',
    all: 'all current prompts',
  },
  deletedPromptRows: { absent: 'they have no row', listed: 'they have a row if they have responses' },
  deletedPrompts: {
    leave: 'they are in no group',
    stay: 'they stay in their groups',
    ungrouped: 'they count as prompts without a group',
  },
  currentDay: { counted: 'responses of the current day count', excluded: 'responses of the current day do not count' },
  repeatedMentions: {
    first: 'the first mention counts',
    best: 'the mention with the best position counts',
    each: 'each mention counts',
  },
  countedResponses: {
    all: 'responses to all prompts',
    current: 'responses to prompts that are not deleted',
    active: 'responses to prompts that are neither deleted nor paused',
  },
  deletedCompetitors: {
    excluded: 'they do not count',
    counted: 'they count in shares of voice',
    mentioned: 'they count, and have rows if they are mentioned',
    listed: 'they count and have rows',
  },
  unmentioned: {
    listed: 'they have a row',
    absent: 'they have no row',
    totals: 'they have a row, but not in daily rows',
  },
  emptyRange: { listed: 'it has rows', absent: 'it has no rows' },
  outsideDays: { absent: 'they have no row', zero: 'they have rows if other days without responses do' },
  topCompetitorsBrand: { excluded: 'only competitors are listed', included: 'the brand is listed too' },
  topCompetitorsDeleted: {
    excluded: 'only tracked competitors are listed',
    included: 'deleted ones are listed too if they are mentioned',
    listed: 'deleted ones are listed like tracked ones',
  },
  topCompetitorsUnmentioned: { absent: 'only mentioned ones are listed', listed: 'all are listed' },
  emptyTop: { list: 'an empty list', null: 'null' },
  changePeriod: {
    adjacent: 'the range of equal length directly before',
    weeks: 'the same range, earlier by whole weeks',
    halves: 'the first half of the range',
  },
  changeToEmpty: {
    computed: 'computed with a visibility of 0',
    null: 'null',
    zero: '0',
    alwaysNull: 'null, also from a range without responses',
    alwaysZero: '0, also from a range without responses',
  },
  changeFromZero: { null: 'null', zero: '0', whole: '100 %' },
  citationCount: {
    each: 'each citation counts',
    pages: 'a page counts once in a response',
    responses: 'a page or a domain counts once in a response',
  },
  trafficTotals: { filtered: 'the filtered source', all: 'all sources' },
  urlTitle: {
    latest: 'the latest title',
    first: 'the first title',
    latestOrNull: 'the latest title, or null if the latest citation has none',
    firstOrNull: 'the first title, or null if the first citation has none',
    frequent: 'the most frequent title, of several the latest',
    frequentByName: 'the most frequent title, of several the first by alphabet',
    longest: 'the longest title',
    shortest: 'the shortest title',
    least: 'the first title by alphabet',
    greatest: 'the last title by alphabet',
    each: 'a row for each title',
  },
};

/** Returns the value of a point in words. */
export function choiceText<Name extends keyof ChoiceWords>(name: Name, value: Conventions[Name]): string {
  return (choiceWords[name] as Readonly<Record<string, string>>)[value] ?? value;
}

/** Whether a convention has values in words. */
export function hasWords(name: keyof Conventions): name is keyof ChoiceWords {
  return Object.hasOwn(choiceWords, name);
}

/** Names of sort keys, if the name of the field is not enough. */
const keyWords: Readonly<Record<string, string>> = {
  brand: 'the brand first',
  listed: "upstream's list",
  entity: 'the order of competitors',
  engineListed: "the brand's list of engines",
  exactVisibility: 'unrounded visibility',
  appearance: 'first prompt of the group',
  firstSeen: 'first citation',
  lastSeen: 'last citation',
  firstTime: 'time of the first citation',
  lastTime: 'time of the last citation',
  answered: 'without responses first',
  competitorId: 'id',
  promptId: 'id',
  groupId: 'id',
};

/** Returns an order in words: `citations (descending), then domain`. */
export function orderText(order: Orders[keyof Orders]): string {
  const words = order.map((key) => {
    const name = sortKeyOf(key);
    const details = [
      ...(key.startsWith('-') ? ['descending'] : []),
      ...(key.endsWith(CASELESS) ? ['ignoring case'] : []),
    ].join(', ');
    return `${keyWords[name] ?? name}${details === '' ? '' : ` (${details})`}`;
  });
  return words.join(', then ');
}

/** Returns the number of decimals in words. */
export function decimalsText({ decimals }: Rounding): string {
  if (decimals === null) return 'not rounded';
  if (decimals === 0) return 'rounded to whole numbers';
  return `rounded to ${decimals} ${decimals === 1 ? 'decimal' : 'decimals'}`;
}
