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

/** How a share is written: as a number from 0 to `whole`. */
export interface ShareForm extends Rounding {
  readonly whole: 1 | 100;
}

/** Choices for how the API computes its numbers that the specification leaves open. */
export interface Conventions {
  readonly visibility: ShareForm;
  readonly shareOfVoice: ShareForm;
  readonly visibilityChange: ShareForm & {
    /** The difference of two shares, or that difference divided by the earlier share. */
    readonly as: 'difference' | 'relative';
    /** Whether the two shares are rounded before they are compared. */
    readonly of: 'exact' | 'rounded';
  };
  readonly avgPosition: Rounding;
  readonly sentiment: Rounding;
  /** The number each sentiment label stands for. Labels missing here are excluded from the mean. */
  readonly labels: Readonly<Record<string, number>>;
  readonly domainShare: ShareForm & { readonly of: 'citations' | 'responses' };
  readonly shareOfSite: ShareForm;
  /** The share when the whole is 0. */
  readonly emptyShare: 0 | null;
  /** The mean position or sentiment without mentions. */
  readonly emptyMean: 0 | null;
  /** The change of visibility when the earlier range has no responses: null, 0 or the current visibility. */
  readonly emptyChange: 0 | null | 'visibility';
  /** Whether days, and engines on a day, without responses are omitted or listed with zeros. */
  readonly emptyDays: 'absent' | 'zero';
  /** The `engine` of daily rows that combine all engines. */
  readonly combinedEngine: string | null;
  /** The `entityType` of competitor rows. */
  readonly competitorType: string;
  /** Maximum number of competitors in a prompt's row. */
  readonly topCompetitors: number;
  /** Whether a group counts only prompts with responses in the range, or all its current prompts. */
  readonly groupPrompts: 'answered' | 'all';
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
  sentiment: oneDecimal,
  labels: { positive: 100, neutral: 50, negative: 0 },
  domainShare: { ...percent, of: 'citations' },
  shareOfSite: percent,
  emptyShare: 0,
  emptyMean: null,
  emptyChange: null,
  emptyDays: 'absent',
  combinedEngine: null,
  competitorType: 'competitor',
  topCompetitors: 3,
  groupPrompts: 'answered',
  ungrouped: null,
  brandedGroups: {
    true: { groupId: 'branded', name: 'branded' },
    false: { groupId: 'non-branded', name: 'non-branded' },
  },
};
