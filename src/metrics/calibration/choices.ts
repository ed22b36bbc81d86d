/** Points with a few possible values, the default first, each with its meaning. `points/` has what they are about. */
export const choices = {
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
  countedResponses: {
    all: 'responses to all prompts',
    current: 'responses to prompts that are not deleted',
    active: 'responses to prompts that are neither deleted nor paused',
  },
  repeatedMentions: {
    first: 'the first mention counts',
    best: 'the mention with the best position counts',
    each: 'each mention counts',
  },
  deletedCompetitors: { excluded: 'they do not count', counted: 'they count in shares of voice' },
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
    listed: 'deleted ones are listed like tracked ones',
    included: 'deleted ones are listed too if they are mentioned',
  },
  topCompetitorsUnmentioned: { absent: 'only mentioned ones are listed', listed: 'all are listed' },
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
  trafficTotals: { filtered: 'the filtered source', all: 'all sources' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Names of these points. */
export type ChoiceName = keyof typeof choices;

/** The possible values of each point, the default first. */
export const pointChoices = Object.fromEntries(
  Object.entries(choices).map(([name, values]) => [name, Object.keys(values)]),
) as unknown as { readonly [Name in ChoiceName]: readonly (keyof (typeof choices)[Name] & string)[] };
