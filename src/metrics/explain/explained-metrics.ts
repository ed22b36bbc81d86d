/** Texts and formats of a metric. */
export interface MetricText {
  readonly label: string;
  /** A value, such as `42.1 %`. */
  shown(value: number): string;
  /** A difference without its sign, such as `3.2 points`. */
  shownChange(change: number): string;
  /** Plural name of the units in the denominator. */
  readonly denominator: string;
  /** Whether a higher value is better for the brand. */
  readonly isHigherBetter: boolean;
}

const percent: Pick<MetricText, 'shown' | 'shownChange'> = {
  shown: (value) => `${rounded(value * 100, 1)} %`,
  shownChange: (change) => `${rounded(Math.abs(change) * 100, 1)} points`,
};

function plain(decimals: number): Pick<MetricText, 'shown' | 'shownChange'> {
  return {
    shown: (value) => rounded(value, decimals),
    shownChange: (change) => rounded(Math.abs(change), decimals),
  };
}

/** The metrics that can be explained. */
export const explainedMetrics = {
  visibility: { label: 'visibility', ...percent, denominator: 'responses', isHigherBetter: true },
  share_of_voice: { label: 'share of voice', ...percent, denominator: 'mentions', isHigherBetter: true },
  position: { label: 'mean position', ...plain(2), denominator: 'mentions with a position', isHigherBetter: false },
  sentiment: { label: 'sentiment', ...plain(1), denominator: 'mentions with a sentiment', isHigherBetter: true },
  owned_citations: {
    label: 'share of citations of own pages',
    ...percent,
    denominator: 'citations',
    isHigherBetter: true,
  },
} as const satisfies Readonly<Record<string, MetricText>>;

/** A metric that can be explained. */
export type ExplainedMetric = keyof typeof explainedMetrics;

/** Returns how a metric is written. */
export function textOf(metric: ExplainedMetric): MetricText {
  return explainedMetrics[metric];
}

// Without a negative zero.
function rounded(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? (0).toFixed(decimals) : text;
}
