import { midP } from './exact-test.ts';
import type { ExplainedMetric } from './explained-metrics.ts';
import { quantileOf, twoSidedP } from './normal.ts';
import { type Cell, ratioOf, type Sides, type Sums, squaredResiduals } from './sums.ts';

/** Minimum number of responses with data in a period for the interval of a ratio estimate, as in mart.brand_changes. */
const RESPONSES_LEAST = 30;
/** Metrics that are ratios from 0 to 1. */
const FRACTIONS: readonly ExplainedMetric[] = ['share_of_voice', 'owned_citations'];
/** False discovery rate of a family of tests. */
export const ERROR_RATE = 0.05;

/** A change with its test. */
export interface TestedChange {
  readonly change: number | null;
  /** Two-sided; null if it cannot be tested. */
  readonly p: number | null;
}

/** A change with a p-value that is corrected for the number of tests in its family. */
export interface JudgedChange extends TestedChange {
  /** Bounds of the change, at `level`; null with too few responses. */
  readonly lower: number | null;
  readonly upper: number | null;
  readonly level: number;
  readonly adjustedP: number | null;
  /** Whether `adjustedP` is at most 0.05 and the interval excludes zero. */
  readonly isSignificant: boolean;
}

/**
 * Tests a change: Fisher's exact test with mid-p for visibility (mart.prompt_changes), and the normal test of two ratio
 * estimates with a common value for the other metrics, with at least 30 responses in each period, as in mart.brand_changes.
 * `judgeChanges` also requires that the interval of a significant change excludes zero.
 */
export function testChange(metric: ExplainedMetric, { before, after }: Sides): TestedChange {
  const [was, is] = [ratioOf(before), ratioOf(after)];
  if (was === null || is === null) return { change: null, p: null };
  const change = is - was;
  if (metric === 'visibility') {
    return { change, p: midP({ mentions: before.y, responses: before.n }, { mentions: after.y, responses: after.n }) };
  }
  if (Math.min(before.n, after.n) < RESPONSES_LEAST) return { change, p: null };
  const error = pooledError(before, after);
  return { change, p: error === 0 ? null : twoSidedP(change / error) };
}

/**
 * Corrects a family of tests by Benjamini and Hochberg. The intervals of significant changes have the level of Benjamini and
 * Yekutieli, the others 0.95.
 */
export function judgeChanges(metric: ExplainedMetric, family: readonly Sides[]): JudgedChange[] {
  const tested = family.map((sides) => testChange(metric, sides));
  const adjusted = adjustPs(tested.map(({ p }) => p));
  const tests = tested.filter(({ p }) => p !== null).length;
  const rejected = adjusted.filter((p) => p !== null && p <= ERROR_RATE).length;
  return tested.map((test, index) => {
    const adjustedP = adjusted[index] ?? null;
    const isRejected = adjustedP !== null && adjustedP <= ERROR_RATE;
    const level = isRejected ? 1 - (ERROR_RATE * rejected) / tests : 1 - ERROR_RATE;
    const [lower, upper] = intervalOf(metric, family[index] as Sides, level);
    const excludesZero = lower !== null && upper !== null && (lower > 0 || upper < 0);
    return { ...test, lower, upper, level, adjustedP, isSignificant: isRejected && excludesZero };
  });
}

/**
 * Returns the standardised change of the metric within the cells: the weighted mean of the changes of single cells, divided by its
 * standard error without a change. The mix of prompts and engines has no effect on it. For visibility it is the statistic of Cochran,
 * Mantel and Haenszel; null if no cell can show a change.
 */
export function stratifiedZ(cells: readonly Cell[]): number | null {
  let [sum, variance] = [0, 0];
  for (const { before, after } of cells) {
    if (before.x === 0 || after.x === 0) continue;
    const weight = (before.x * after.x) / (before.x + after.x);
    sum += weight * (after.y / after.x - before.y / before.x);
    variance += (weight * pooledError(before, after)) ** 2;
  }
  return variance <= Number.EPSILON ? null : sum / Math.sqrt(variance);
}

// Newcombe's method 10 for visibility, and Zou and Donner's for the other metrics.
function intervalOf(
  metric: ExplainedMetric,
  { before, after }: Sides,
  level: number,
): readonly [number | null, number | null] {
  const [was, is] = [ratioOf(before), ratioOf(after)];
  if (was === null || is === null) return [null, null];
  if (metric !== 'visibility' && Math.min(before.n, after.n) < RESPONSES_LEAST) return [null, null];
  const z = quantileOf(level);
  const [low, high] = [boundsOf(metric, before, was, z), boundsOf(metric, after, is, z)];
  const change = is - was;
  return [change - Math.hypot(is - high.lower, low.upper - was), change + Math.hypot(high.upper - is, was - low.lower)];
}

// As in mart.brand_changes: a share, and a ratio from 0 to 1 without variance, has Wilson's interval (`formulas.is_flat`).
function boundsOf(metric: ExplainedMetric, sums: Sums, value: number, z: number): { lower: number; upper: number } {
  const isFlat = FRACTIONS.includes(metric) && squaredResiduals(sums, value) <= 1e-12 * sums.xx;
  if (metric === 'visibility' || isFlat) return wilson(value, sums.n, z);
  const reach = z * standardError(sums, value);
  return { lower: value - reach, upper: value + reach };
}

function wilson(p: number, n: number, z: number): { lower: number; upper: number } {
  const w = (z * z) / n;
  const middle = (p + w / 2) / (1 + w);
  const reach = Math.sqrt(w * (p * (1 - p) + w / 4)) / (1 + w);
  return { lower: middle - reach, upper: middle + reach };
}

// Standard error of the difference of two ratio estimates if both periods have the same value. With few responses it is more accurate
// than the error of the interval.
function pooledError(before: Sums, after: Sums): number {
  const pooled = (before.y + after.y) / (before.x + after.x);
  const residuals = squaredResiduals(before, pooled) + squaredResiduals(after, pooled);
  const variance = residuals / (before.n + after.n - 1);
  return Math.sqrt(variance * (before.n / before.x ** 2 + after.n / after.x ** 2));
}

// Cochran's standard error of a ratio estimate.
function standardError(sums: Sums, value: number): number {
  return Math.sqrt((sums.n / (sums.n - 1)) * squaredResiduals(sums, value)) / sums.x;
}

/** Corrects p-values by Benjamini and Hochberg: the least scaled p-value of all tests that are at least as large. */
export function adjustPs(all: readonly (number | null)[]): (number | null)[] {
  const sorted = all.filter((p) => p !== null).sort((a, b) => a - b);
  const scaled = sorted.map((p, index) => (p * sorted.length) / (index + 1));
  for (let index = scaled.length - 2; index >= 0; index--) {
    scaled[index] = Math.min(scaled[index] as number, scaled[index + 1] as number);
  }
  const adjusted = new Map(sorted.map((p, index) => [p, Math.min(1, scaled[index] as number)]));
  return all.map((p) => (p === null ? null : (adjusted.get(p) ?? null)));
}
