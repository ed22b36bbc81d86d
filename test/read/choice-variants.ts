import type { Choices } from '../../schemas/fixtures/choices.ts';
import { pick, randomOf } from '../../src/sandbox/random.ts';

/** Values of choices; a variant with number `n` has the value at `n`, modulo their count. */
type Values = { readonly [Name in keyof Choices]?: readonly Choices[Name][] };

/** Choices that calibration finds, or that the forms of responses show. */
const FORMS: Values = {
  listEnvelope: ['bare', 'data', 'data', 'data', 'data'],
  engineItems: ['strings', 'objects', 'objects', 'objects', 'objects'],
  rowModeParameter: ['rows', 'breakdown', 'granularity', 'breakdown', 'breakdown'],
  combinedEngine: ['all', 'null', 'null', 'null', 'absent'],
  credits: ['nested', 'detailed', 'number', 'credits', 'credits'],
  extraFields: [true, false, false, false, false],
  timestamps: ['seconds', 'milliseconds', 'milliseconds', 'trimmed', 'python'],
  ids: ['lower', 'lower', 'lower', 'upper', 'mixed'],
  revenue: ['number', 'number', 'number', 'text', 'number'],
  missing: ['null', 'null', 'null', 'absent', 'absent'],
  echo: ['day', 'day', 'day', 'time', 'day'],
  wrapObjects: [true, false, false, false, true],
  websites: ['none', 'none', 'cited', 'none', 'none'],
  connected: ['alternate', 'alternate', 'all', 'all', 'alternate'],
  propertyZone: ['UTC', 'UTC', 'Asia/Tokyo', 'UTC', 'UTC'],
  createdDaysBefore: [0, 0, 500, 0, 0],
  scale: ['fraction', 'percent', 'fraction', 'percent', 'percent'],
  decimals: ['none', 0, 2, 1, 1],
  sentiment: [
    { positive: 1, neutral: 0, negative: -1 },
    { positive: 5, neutral: 3, negative: 1 },
    { great: 10, good: 7, fair: 4, poor: 1 },
    { positive: 100, neutral: 50, negative: 0 },
    { positive: 100, neutral: 50, negative: 0 },
  ],
  domainShareOf: ['citations', 'responses', 'citations', 'citations', 'citations'],
  emptyShare: [0, 0, null, 0, 0],
  emptyDays: ['absent', 'zero', 'absent', 'absent', 'absent'],
  groupPrompts: ['answered', 'all', 'answered', 'answered', 'answered'],
  ungrouped: ['absent', 'null', 'absent', 'absent', 'absent'],
};

/** Choices of reports, which are known here. */
const REPORTS: Values = {
  scale: ['percent', 'percent', 'fraction'],
  decimals: [1, 1, 3],
  domainShareOf: ['citations', 'responses', 'citing'],
  countedResponses: ['all', 'all', 'current', 'active'],
  repeatedMentions: ['never', 'first', 'best', 'each'],
  unlabelled: [null, 0, 50],
  sentiment: [
    { positive: 100, neutral: 50, negative: 0 },
    { positive: 100, neutral: 50, negative: 0 },
    { positive: 100, neutral: 50, negative: 0, mixed: null },
  ],
  // Deleted prompts that stay have no place in a list, by which variant 3 orders; those without a group are not counted in one.
  deletedPrompts: ['leave', 'stay', 'stay', 'leave', 'ungrouped', 'stay', 'leave', 'stay', 'leave', 'stay'],
  deletedPromptRows: ['absent', 'listed'],
  deletedCompetitors: ['counted', 'excluded'],
  unmentioned: ['listed', 'absent', 'totals'],
  emptyRange: ['listed', 'absent', 'listed'],
  emptyDays: ['absent', 'absent', 'zero', 'engines'],
  outsideDays: ['absent', 'absent', 'zero'],
  emptyShare: [0, null],
  emptyVoice: ['share', 0, null],
  emptyPosition: [null, 0],
  emptySentiment: [null, 0, null],
  emptySite: ['share', 0, null],
  change: ['difference', 'relative'],
  emptyChange: [0, null, 'visibility'],
  changeToEmpty: ['computed', 'null', 'zero', 'alwaysNull', 'alwaysZero'],
  changeFromZero: ['null', 'zero', 'whole'],
  changePeriod: ['adjacent', 'weeks', 'halves'],
  groupPrompts: ['all', 'known', 'active', 'answered'],
  groupPromptsFilter: ['matching', 'all'],
  groupRows: ['matching', 'all', 'answered'],
  groupMembers: ['matching', 'all', 'answered'],
  filteredGroups: ['all', 'filtered', 'all'],
  ungrouped: ['absent', 'null'],
  promptRows: ['active', 'all', 'answered'],
  topCompetitors: [3, 5, 1],
  topCompetitorsBrand: ['excluded', 'included', 'excluded'],
  topCompetitorsDeleted: ['included', 'excluded', 'listed'],
  topCompetitorsUnmentioned: ['absent', 'absent', 'listed'],
  citationCount: ['each', 'pages', 'responses'],
  titles: ['varied'],
  urlTitle: [
    ...['first', 'latestOrNull', 'frequent', 'least', 'each', 'greatest', 'firstOrNull'],
    ...['longest', 'frequentByName', 'shortest'],
  ] as readonly Choices['urlTitle'][],
  emptyVisits: ['absent', 'absent', 'zero'],
  trafficTotals: ['filtered', 'all'],
  entityOrder: [
    ['brand', 'name'],
    ['-visibility', 'brand', 'listed'],
    ['-mentions', 'competitorId'],
    ['brand', '-shareOfVoice', 'name'],
    ['brand', 'name:caseless'],
  ],
  dayOrder: [
    ['-date', 'engineListed', 'entity'],
    ['date', 'entity', 'engine'],
    ['entity', 'date', 'engine'],
    ['entity', 'engine', 'date'],
  ],
  promptOrder: [
    ['visibility', 'prompt'],
    ['exactVisibility', '-responses', 'promptId'],
    ['visibility', '-createdAt', 'promptId'],
    ['exactVisibility', 'listed'],
    ['visibility', '-promptId'],
    ['exactVisibility', 'prompt:caseless'],
  ],
  groupOrder: [
    ['name', 'groupId'],
    ['-visibility', 'listed'],
    ['-responses', 'name', 'groupId'],
    ['appearance'],
    ['exactVisibility', 'groupId'],
    ['stageAppearance', 'listed'],
    ['-prompts', 'groupId'],
    ['-name', 'groupId'],
    ['name:caseless', 'groupId'],
  ],
  domainOrder: [
    ['-citations', '-domain'],
    ['-citations', '-responses', 'domain'],
    ['-citations', '-lastSeen'],
    ['-citations', 'firstSeen'],
  ],
  urlOrder: [
    ['-citations', '-url'],
    ['-citations', 'firstSeen'],
    ['-citations', '-lastSeen'],
    ['-citations', 'title', 'url'],
    ['-citations', 'domain', 'url'],
    ['-citations', 'title:caseless', 'url'],
  ],
  visitOrder: [
    ['-date', 'source'],
    ['date', '-sessions', 'source'],
    ['source', 'date'],
  ],
  topCompetitorOrder: [
    ['-mentions', 'listed'],
    ['-mentions', 'competitorId'],
    ['-mentions', '-name'],
    ['-mentions', 'name:caseless'],
  ],
};

function variantsOf(values: Values): { readonly number: number; readonly choices: Partial<Choices> }[] {
  const lists = Object.entries(values);
  return Array.from({ length: Math.max(...lists.map(([, list]) => list.length)) }, (_, number) => ({
    number,
    choices: Object.fromEntries(lists.map(([name, list]) => [name, list[number % list.length]])),
  }));
}

/** Combinations of choices; together they have every value of each choice. */
export const [formVariants, reportVariants] = [variantsOf(FORMS), variantsOf(REPORTS)];

/** Choices that few upstreams make, and that six questions do not decide. */
const RARE: readonly (keyof Choices)[] = [
  ...(['deletedPrompts', 'repeatedMentions', 'unlabelled'] as const),
  ...(['changeFromZero', 'citationCount'] as const),
];

/** Random values for a share of the other choices; the same for the same seed. */
export function randomChoices(seed: number, share: number): Partial<Choices> {
  const random = randomOf('open choices', seed);
  const drawn = Object.entries<readonly unknown[]>({ ...FORMS, ...REPORTS }).map(
    ([name, values]) => [name, pick(random, values)] as const,
  );
  return Object.fromEntries(drawn.filter(([name]) => random() < share && !RARE.includes(name as keyof Choices)));
}
