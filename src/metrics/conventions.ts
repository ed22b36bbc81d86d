/** How a number is brought into the form upstream gives it. */
export interface Rounding {
  /** Digits after the point; null for none taken away. */
  readonly decimals: number | null;
  /**
   * What becomes of a value in between. The first four look at the value times a power of ten: `half-away` rounds 2.5 to
   * 3 and -2.5 to -3, `half-up` -2.5 to -2. `decimal-half-away` takes 1.005 for what it says, as SQL's decimals do;
   * `binary-half-away` and `binary-half-even` for the number just below that a double holds, as a formatter does.
   */
  readonly mode: (typeof roundingModes)[number];
}

/** The ways of rounding that are told apart, the likeliest first. */
export const roundingModes = [
  'half-away',
  'half-even',
  'half-up',
  'decimal-half-away',
  'binary-half-away',
  'binary-half-even',
  'down',
] as const;

/** How a part of a whole is written: from 0 to `whole`. */
export interface ShareForm extends Rounding {
  readonly whole: 1 | 100;
}

/** What the specification leaves open about the API's numbers, decided. */
export interface Conventions {
  readonly visibility: ShareForm;
  readonly shareOfVoice: ShareForm;
  readonly visibilityChange: ShareForm & {
    /** The difference of two shares, or that difference in relation to the earlier one. */
    readonly as: 'difference' | 'relative';
    /** Whether the two are rounded before. */
    readonly of: 'exact' | 'rounded';
  };
  readonly avgPosition: Rounding;
  readonly sentiment: Rounding;
  /** What each sentiment label is worth; a label that is not here is left out of the mean. */
  readonly labels: Readonly<Record<string, number>>;
  readonly domainShare: ShareForm & { readonly of: 'citations' | 'responses' };
  readonly shareOfSite: ShareForm;
  /** A share of nothing. */
  readonly emptyShare: 0 | null;
  /** A mean of nothing: position or sentiment where there is no mention. */
  readonly emptyMean: 0 | null;
  /** Visibility against a range that had no answers: unknown, no change, or all of the visibility. */
  readonly emptyChange: 0 | null | 'visibility';
  /** Days, and engines on days, without answers: left out, or rows of zeros. */
  readonly emptyDays: 'absent' | 'zero';
  /** The engine of daily rows that combine all engines. */
  readonly combinedEngine: string | null;
  /** What rows of competitors have as their entity type. */
  readonly competitorType: string;
  /** How many competitors a prompt's row names at most. */
  readonly topCompetitors: number;
  /** Which prompts a group counts: those answered in the range, or all that it has now. */
  readonly groupPrompts: 'answered' | 'all';
  /** The row of prompts without a topic, tag or stage; null where there is none. */
  readonly ungrouped: { readonly groupId: string | null; readonly name: string | null } | null;
  /** Id and name of the two groups by brandedness. */
  readonly brandedGroups: Readonly<Record<'true' | 'false', { readonly groupId: string; readonly name: string }>>;
}

const oneDecimal = { decimals: 1, mode: 'half-away' } as const;
const percent = { ...oneDecimal, whole: 100 } as const;

/** What holds until upstream's own numbers say otherwise. */
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
