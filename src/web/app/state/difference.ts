import type { Measurement } from './table.ts';
/** A value of the metrics layer with its interval and its sample. */
export interface Estimate extends Measurement {
  readonly numerator: number | null;
}

/** The difference of two values, with its 95 % interval and its test. */
export interface Difference {
  readonly difference: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  /** Two-sided; null if it cannot be tested. */
  readonly p: number | null;
  /** Name of the test; null if it cannot be tested. */
  readonly test: string | null;
}

/** Whether a value is a share of its sample units, or a ratio of two sums over them. */
export type EstimateKind = 'share' | 'ratio';

/** Square of the normal quantile for intervals of level 0.95. */
const Z2 = 3.841458820694124;
/** Rounding error by which the bounds of Wilson's interval may differ. */
const WILSON_ERROR = 1e-12;
/** Largest number of sample units of both sides for which the exact test is computed. */
const EXACT_UNITS_MAX = 1_000;

/**
 * Returns the difference a - b of two independent samples. Intervals and tests are the same as in the metrics layer for changes between
 * two periods: Newcombe's and Zou and Donner's combination of the intervals; for shares the mid-p value of Fisher's exact test up to 1,000
 * units and the score test beyond, for ratios the normal test.
 */
export function differenceOf(kind: EstimateKind, a: Estimate, b: Estimate): Difference {
  if (a.value === null || b.value === null) {
    return { difference: null, lower: null, upper: null, p: null, test: null };
  }
  const difference = a.value - b.value;
  const bounds =
    a.lower === null || a.upper === null || b.lower === null || b.upper === null
      ? { lower: null, upper: null }
      : {
          lower: difference - Math.hypot(a.value - a.lower, b.upper - b.value),
          upper: difference + Math.hypot(a.upper - a.value, b.value - b.lower),
        };
  return { difference, ...bounds, ...(kind === 'share' ? shareTest(a, b) : ratioTest(difference, a, b)) };
}

/** Returns p values corrected for their number by Benjamini and Hochberg; null remains null. */
export function adjustedOf(values: readonly (number | null)[]): readonly (number | null)[] {
  const known = values.flatMap((p) => (p === null ? [] : [p])).sort((a, b) => a - b);
  return values.map((p) => {
    if (p === null) return null;
    const scaled = known.map((each, index) => (each >= p ? (each * known.length) / (index + 1) : 1));
    return Math.min(1, ...scaled);
  });
}

function shareTest(a: Estimate, b: Estimate): Pick<Difference, 'p' | 'test'> {
  const [n1, n2, k1, k2] = [a.n ?? 0, b.n ?? 0, a.numerator ?? 0, b.numerator ?? 0];
  const units = n1 + n2;
  const successes = k1 + k2;
  if (n1 === 0 || n2 === 0 || successes === 0 || successes === units) return { p: null, test: null };
  if (units <= EXACT_UNITS_MAX) return { p: exactP(n1, n2, successes, k1), test: 'Fisher’s exact test, mid-p' };
  const pooled = successes / units;
  const z = Math.abs(k1 / n1 - k2 / n2) / Math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2));
  return { p: normalTails(z), test: 'Score test, pooled share' };
}

function ratioTest(difference: number, a: Estimate, b: Estimate): Pick<Difference, 'p' | 'test'> {
  const [reachA, reachB] = [reachOf(a), reachOf(b)];
  if (reachA === null || reachB === null) return { p: null, test: null };
  const reach = Math.hypot(reachA, reachB);
  if (reach === 0) return { p: null, test: null };
  return { p: normalTails((Math.sqrt(Z2) * Math.abs(difference)) / reach), test: 'Normal test of ratios' };
}

/** Returns Wilson's 95 % interval of a share of n units, the interval of shares in the metrics layer. */
export function wilsonInterval(share: number, n: number): readonly [number, number] {
  const w = Z2 / n;
  const half = Math.sqrt(w * share * (1 - share) + (w * w) / 4);
  return [(share + w / 2 - half) / (1 + w), (share + w / 2 + half) / (1 + w)];
}

// Half the width of the interval of a ratio. A ratio without variance has Wilson's interval instead, and adds nothing to the error.
function reachOf({ value, n, lower, upper }: Estimate): number | null {
  if (value === null || lower === null || upper === null) return null;
  const isWilson = wilsonInterval(value, n ?? 0).every(
    (bound, index) => Math.abs(bound - (index === 0 ? lower : upper)) < WILSON_ERROR,
  );
  return isWilson ? 0 : (upper - lower) / 2;
}

// Hypergeometric distribution of the successes of the first sample; the observed value counts half.
function exactP(n1: number, n2: number, successes: number, observed: number): number {
  const logs = [0];
  for (let n = 1; n <= n1 + n2; n++) logs.push((logs[n - 1] ?? 0) + Math.log(n));
  const choose = (n: number, k: number): number => (logs[n] ?? 0) - (logs[k] ?? 0) - (logs[n - k] ?? 0);
  let below = 0;
  let above = 0;
  for (let k = Math.max(0, successes - n2); k <= Math.min(n1, successes); k++) {
    const weight = Math.exp(choose(n1, k) + choose(n2, successes - k) - choose(n1 + n2, successes));
    if (k < observed) below += weight;
    else if (k > observed) above += weight;
    else {
      below += weight / 2;
      above += weight / 2;
    }
  }
  return Math.min(1, 2 * Math.min(below, above));
}

/** Coefficients of erfcc in Press et al., Numerical Recipes, with a relative error below 1.2e-7. */
const ERFC = [
  -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
  0.17087277,
];

function normalTails(z: number): number {
  const u = 1 / (1 + z / Math.sqrt(8));
  return u * Math.exp((-z * z) / 2 + ERFC.reduceRight((sum, coefficient) => sum * u + coefficient, 0));
}
