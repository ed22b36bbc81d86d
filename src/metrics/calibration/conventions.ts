import { type Choices, pointChoices } from './choices.ts';

/** How upstream rounds a number. */
export interface Rounding {
  /** Decimal places; null if upstream does not round. */
  readonly decimals: number | null;
  /**
   * The first three modes round the value times a power of ten: `half-away` rounds 2.5 to 3 and -2.5 to -3, `half-up`
   * rounds -2.5 to -2. `decimal-half-away` treats 1.005 as exactly 1.005, like SQL decimals. `binary-half-away` and
   * `binary-half-even` use the exact value of the double, just below 1.005, like `toFixed`. `down` truncates.
   */
  readonly mode: (typeof roundingModes)[number];
}

/** The rounding modes that calibration distinguishes, most likely first. */
export const roundingModes = [
  'half-away',
  'half-even',
  'half-up',
  'decimal-half-away',
  'binary-half-away',
  'binary-half-even',
  'down',
] as const;

/** Orders of rows: sort keys, with a leading `-` for descending. `points/order-points.ts` has their candidates. */
export interface Orders {
  /** The brand and its competitors. */
  readonly entityOrder: readonly string[];
  /** Daily rows. */
  readonly dayOrder: readonly string[];
  readonly promptOrder: readonly string[];
  readonly groupOrder: readonly string[];
  readonly domainOrder: readonly string[];
  readonly urlOrder: readonly string[];
  /** Rows of visits. */
  readonly visitOrder: readonly string[];
  /** The competitors in the row of a prompt. */
  readonly topCompetitorOrder: readonly string[];
}

/** Orders of paged lists, by resource; the pages that a sync reads decide them. */
export const LIST_ORDERS = {
  responses: 'responseOrder',
  alerts: 'alertOrder',
  forum_opportunities: 'threadOrder',
} as const;

/** Orders of paged lists. `src/contract/list-order.ts` describes their keys. */
type ListOrders = { readonly [Name in (typeof LIST_ORDERS)[keyof typeof LIST_ORDERS]]: readonly string[] };

/** How a share is written: as a number from 0 to `whole`. */
export interface ShareForm extends Rounding {
  readonly whole: 1 | 100;
}

/** Choices for how the API computes its numbers that the specification leaves open. */
export interface Conventions extends Choices, Orders, ListOrders {
  readonly visibility: ShareForm;
  readonly shareOfVoice: ShareForm;
  readonly visibilityChange: ShareForm & {
    /** The difference of two shares, or that difference divided by the earlier share. */
    readonly as: 'difference' | 'relative';
    /** Whether the two shares are rounded before they are compared. */
    readonly of: 'exact' | 'rounded';
  };
  readonly avgPosition: Rounding;
  /** The mentions of a mean position: those with a position, or all, where a missing position counts as 0. */
  readonly positionOver: 'placed' | 'mentions';
  readonly sentiment: Rounding;
  /**
   * The number each sentiment label stands for. Labels missing here are excluded from the mean. The empty label stands for
   * mentions without a label.
   */
  readonly labels: Readonly<Record<string, number>>;
  /** `citing`: a share of the responses that cite anything. */
  readonly domainShare: ShareForm & { readonly of: 'citations' | 'responses' | 'citing' };
  readonly shareOfSite: ShareForm;
  /** The share when the whole is 0. */
  readonly emptyShare: 0 | null;
  /** The share of voice without mentions; `share` for the value of `emptyShare`. */
  readonly emptyVoice: 0 | null | 'share';
  /** The share of a site without sessions; `share` for the value of `emptyShare`. */
  readonly emptySite: 0 | null | 'share';
  /** The mean position or sentiment without mentions. */
  readonly emptyMean: 0 | null;
  /** The mean sentiment without mentions; `mean` for the value of `emptyMean`. */
  readonly emptySentiment: 0 | null | 'mean';
  /** The change of visibility when the earlier range has no responses: null, 0 or the current visibility. */
  readonly emptyChange: 0 | null | 'visibility';
  /** Whether days, and engines on a day, without responses are omitted or listed with zeros; or only engines on days with responses. */
  readonly emptyDays: 'absent' | 'zero' | 'engines';
  /** The `engine` of daily rows that combine all engines. */
  readonly combinedEngine: string | null;
  /** The `entityType` of competitor rows. */
  readonly competitorType: string;
  /** Maximum number of competitors in a prompt's row. */
  readonly topCompetitors: number;
  /** The row for prompts without a topic, tag or stage; null if upstream has no such row. */
  readonly ungrouped: { readonly groupId: string | null; readonly name: string | null } | null;
  /** Id and name of the branded and the non-branded group. */
  readonly brandedGroups: Readonly<Record<'true' | 'false', { readonly groupId: string; readonly name: string }>>;
}

const oneDecimal = { decimals: 1, mode: 'half-away' } as const;
const percent = { ...oneDecimal, whole: 100 } as const;

/** Conventions used until calibration finds others. */
export const defaultConventions: Conventions = {
  visibility: percent,
  shareOfVoice: percent,
  visibilityChange: { ...percent, as: 'difference', of: 'exact' },
  avgPosition: oneDecimal,
  positionOver: 'placed',
  sentiment: oneDecimal,
  labels: { positive: 100, neutral: 50, negative: 0 },
  domainShare: { ...percent, of: 'citations' },
  shareOfSite: percent,
  emptyShare: 0,
  emptyVoice: 'share',
  emptySite: 'share',
  emptyMean: null,
  emptySentiment: 'mean',
  emptyChange: null,
  emptyDays: 'absent',
  combinedEngine: null,
  competitorType: 'competitor',
  topCompetitors: 3,
  ...firstChoices(),
  entityOrder: ['brand', 'listed'],
  dayOrder: ['date', 'engine', 'entity'],
  promptOrder: ['exactVisibility', 'promptId'],
  groupOrder: ['listed'],
  domainOrder: ['-citations', 'domain'],
  urlOrder: ['-citations', 'url'],
  visitOrder: ['date', 'source'],
  topCompetitorOrder: ['-mentions', 'name'],
  responseOrder: ['-createdAt', '-id'],
  alertOrder: ['-detectedAt', '-id'],
  threadOrder: ['-createdAt', '-id'],
  ungrouped: null,
  brandedGroups: {
    true: { groupId: 'branded', name: 'branded' },
    false: { groupId: 'non-branded', name: 'non-branded' },
  },
};

/** Returns the order of a paged list; empty if its declaration decides it. */
export function listOrderOf(resource: string, conventions: ListOrders): readonly string[] {
  const name = Object.hasOwn(LIST_ORDERS, resource) ? LIST_ORDERS[resource as keyof typeof LIST_ORDERS] : null;
  return name === null ? [] : conventions[name];
}

function firstChoices(): Choices {
  return Object.fromEntries(Object.entries(pointChoices).map(([name, [first]]) => [name, first])) as unknown as Choices;
}
