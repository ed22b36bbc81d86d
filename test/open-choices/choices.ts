import { defaultChoices as defaultWorld, type Choices as WorldChoices } from '../../schemas/fixtures/choices.ts';
import { pick, randomOf } from '../../src/sandbox/random.ts';

type Options<T> = { readonly [Name in keyof T]: readonly T[Name][] };

/** Choices of the sandbox that the comparison varies; its default is the most common one. */
const WORLD: Partial<Options<WorldChoices>> = {
  // Definitions of numbers.
  sentiment: [
    { positive: 100, neutral: 50, negative: 0, mixed: 50 },
    { positive: 1, neutral: 0, negative: -1, mixed: -0.5 },
    { positive: 1, neutral: 0.5, negative: 0, mixed: null },
    { positive: 5, neutral: 3, negative: 1, mixed: 3 },
    { positive: 100, neutral: 0, negative: -100, mixed: null },
  ],
  domainShareOf: ['citations', 'responses'],
  deletedCompetitors: ['excluded', 'counted', 'mentioned'],
  countedResponses: ['all', 'current', 'active'],
  change: ['difference', 'relative'],
  changePeriod: ['adjacent', 'halves'],
  emptyChange: [null, 0, 'visibility'],
  changeToEmpty: ['computed', 'null', 'zero', 'alwaysNull', 'alwaysZero'],

  // Numbers without responses or mentions.
  emptyShare: [0, null],
  emptyVoice: ['share', 0, null],
  emptySite: ['share', 0, null],
  emptyPosition: [null, 0],
  emptySentiment: [null, 0],

  // Rows that exist.
  emptyRange: ['listed', 'absent'],
  emptyDays: ['absent', 'zero'],
  outsideDays: ['absent', 'zero'],
  unmentioned: ['listed', 'totals'],
  promptRows: ['answered', 'active', 'all'],
  deletedPromptRows: ['absent', 'listed'],
  topCompetitors: [3, 5, 1],
  topCompetitorsBrand: ['excluded', 'included'],
  topCompetitorsDeleted: ['excluded', 'listed'],
  topCompetitorsUnmentioned: ['absent', 'listed'],
  groupRows: ['answered', 'matching', 'all'],
  groupPrompts: ['answered', 'all', 'active'],
  groupPromptsFilter: ['all', 'matching'],
  groupMembers: ['matching', 'answered'],
  filteredGroups: ['all', 'filtered'],
  deletedPrompts: ['leave', 'ungrouped'],
  ungrouped: ['absent', 'null'],
  emptyVisits: ['absent', 'zero'],
  trafficTotals: ['filtered', 'all'],
  connected: ['all', 'none'],

  // Contents of rows.
  titles: ['varied'],
  urlTitle: ['latest', 'first', 'frequentByName', 'longest'],
  combinedEngine: ['null', 'all', 'absent'],
  timestamps: ['milliseconds', 'seconds', 'trimmed', 'python'],
  revenue: ['number', 'text'],
  missing: ['null', 'absent'],
  extraFields: [false, true],
  ids: ['lower', 'upper'],

  // Orders.
  entityOrder: [
    ['brand', 'listed'],
    ['brand', 'name'],
    ['brand', 'name:caseless'],
    ['brand', '-mentions', 'name'],
    ['-mentions', 'name'],
  ],
  dayOrder: [
    ['date', 'engine', 'entity'],
    ['-date', 'engine', 'entity'],
    ['date', 'engineListed', 'entity'],
  ],
  promptOrder: [
    ['exactVisibility', 'prompt'],
    ['exactVisibility', 'prompt:caseless'],
    ['exactVisibility', 'promptId'],
    ['exactVisibility', '-responses', 'prompt'],
  ],
  groupOrder: [
    ['listed'],
    ['name', 'groupId'],
    ['name:caseless', 'groupId'],
    ['-responses', 'name', 'groupId'],
    ['-exactVisibility', 'name', 'groupId'],
  ],
  domainOrder: [
    ['-citations', 'domain'],
    ['-citations', '-responses', 'domain'],
    ['-citations', 'firstSeen'],
  ],
  urlOrder: [
    ['-citations', 'url'],
    ['-citations', 'title', 'url'],
    ['-citations', 'firstSeen'],
  ],
  visitOrder: [
    ['date', 'source'],
    ['-date', 'source'],
    ['date', '-sessions', 'source'],
  ],
  topCompetitorOrder: [
    ['-mentions', 'name'],
    ['-mentions', 'name:caseless'],
    ['-mentions', 'competitorId'],
    ['-mentions', 'listed'],
  ],

  // Shapes.
  listEnvelope: ['data', 'bare'],
  engineItems: ['objects', 'strings'],
  websites: ['none', 'cited'],
  credits: ['credits', 'detailed', 'nested', 'number'],
  rowModeParameter: ['split', 'rows', 'breakdown', 'by', 'aggregate'],
};

/** Forms of the responses, which `startUpstream` writes. Decimals are those of the percentage, also if the scale is a fraction. */
const FORMS = {
  visibilityScale: ['percent', 'fraction'],
  shareOfVoiceScale: ['percent', 'fraction'],
  domainShareScale: ['percent', 'fraction'],
  siteShareScale: ['percent', 'fraction'],
  visibilityDecimals: [1, 0, 2, 'all'],
  shareOfVoiceDecimals: [1, 0, 2, 'all'],
  positionDecimals: [1, 2, 'all'],
  sentimentDecimals: [1, 0, 2, 'all'],
  domainShareDecimals: [1, 2, 'all'],
  siteShareDecimals: [1, 2, 'all'],
  rounding: ['half-up', 'half-even', 'truncate', 'to-fixed', 'math-round'],
  competitorEntity: ['competitor', 'rival', 'tracked_competitor'],
  brandedGroups: ['slugs', 'booleans', 'titles'],
  stageNames: ['slugs', 'titles'],
  ungroupedName: ['null', 'none'],
  responseTies: ['-id', 'id', 'prompt'],
  alertTies: ['-id', 'id'],
  forumNewest: ['createdAt', 'postedAt'],
  forumTies: ['-id', 'id'],
  engineListOrder: ['list', 'name'],
  promptListOrder: ['created', '-created', 'text'],
  planOrder: ['lost', 'prompt'],
  disconnected: ['empty', 'nulls'],
  // `named`: lists of engines, brands and competitors stand under their name. `extra`: lists have a further member.
  envelope: ['plain', 'named', 'extra'],
  sourcesEcho: ['none', 'range'],
} as const;

/** How an upstream writes its responses. */
export type Forms = { readonly [Name in keyof typeof FORMS]: (typeof FORMS)[Name][number] };

/** What an upstream decides that the specification leaves open. */
export interface Choices {
  readonly world: WorldChoices;
  readonly forms: Forms;
}

/** The most common value of every point. */
export function defaultChoices(): Choices {
  return randomChoices(0, 0);
}

/** A random value for a share of the points, and the most common one for the others; the same for the same seed. */
export function randomChoices(seed: number, share = 1): Choices {
  const random = randomOf('open choices', seed);
  const choose = <T>(options: Options<T>): T =>
    Object.fromEntries(
      Object.entries<readonly unknown[]>(options).map(([name, values]) => [
        name,
        random() < share ? pick(random, values) : values[0],
      ]),
    ) as T;
  // `forms.ts` rounds the numbers of responses.
  const world = { ...defaultWorld, ...choose(WORLD as Options<WorldChoices>), decimals: 'none' } as const;
  return { world, forms: choose<Forms>(FORMS) };
}

/** `a=x, b=y` of the choices that are not the most common ones. */
export function describeChoices(choices: Choices): string {
  const usual = defaultChoices();
  const listed = (['world', 'forms'] as const).flatMap((part) => {
    const common: Readonly<Record<string, unknown>> = { ...usual[part] };
    return Object.entries(choices[part]).flatMap(([name, value]) => {
      const text = JSON.stringify(value);
      return text === JSON.stringify(common[name]) ? [] : [`${name}=${text}`];
    });
  });
  return listed.join(', ') || 'the most common choices';
}
