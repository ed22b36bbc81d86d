/** A sample unit of a measure: its value and its size. */
export interface Unit {
  readonly y: number;
  readonly x: number;
}

/** An estimate of a measure in one period. */
export interface Estimate {
  readonly n: number;
  readonly value: number | null;
  readonly part: number;
  readonly whole: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  /** Half the length of the interval of a ratio estimate; null for others, and with few units. */
  readonly reach: number | null;
}

/** Normal quantiles of 95 % and of 99 %. */
const Z95 = 1.959963984540054;
export const Z99 = 2.5758293035489004;

/** Computes a measure and its interval from its sample units. `isFraction` is whether it is from 0 to 1. */
export function estimate(kind: string, isFraction: boolean, units: readonly Unit[], z = Z95): Estimate {
  const none = { lower: null, upper: null, reach: null };
  const n = units.length;
  const part = units.reduce((sum, { y }) => sum + y, 0);
  if (kind === 'count') return { n, value: part, part, whole: null, ...none };
  const whole = units.reduce((sum, { x }) => sum + x, 0);
  if (n === 0) return { n, value: null, part, whole, ...none };
  const value = part / whole;
  if (kind === 'share') return { n, value, part, whole, ...wilson(part, n, z), reach: null };
  if (n < 30) return { n, value, part, whole, ...none };
  const squares = units.reduce((sum, { y, x }) => sum + (y - value * x) ** 2, 0);
  const reach = (z * Math.sqrt((n / (n - 1)) * squares)) / whole;
  const isFlat = isFraction && units.every(({ y, x }) => Math.abs(y / x - value) < 1e-9);
  const bounds = isFlat ? wilson(value * n, n, z) : { lower: value - reach, upper: value + reach };
  return { n, value, part, whole, ...bounds, reach };
}

/** Computes the interval of a share: the two p that solve (p - k / n)^2 = z^2 p (1 - p) / n. */
export function wilson(k: number, n: number, z = Z95): { lower: number; upper: number } {
  const [a, b, c] = [n + z * z, -(2 * k + z * z), (k * k) / n];
  const root = Math.sqrt(Math.max(0, b * b - 4 * a * c));
  return { lower: (-b - root) / (2 * a), upper: (-b + root) / (2 * a) };
}

type Bounded = { readonly [Name in 'value' | 'lower' | 'upper']: number | null };

/** Computes a change and its interval from both estimates (Newcombe's method 10); null if one is unknown. */
export function changeOf(now: Bounded, before: Bounded): Readonly<Record<'change' | 'lower' | 'upper', number | null>> {
  if (now.value === null || before.value === null) return { change: null, lower: null, upper: null };
  const change = now.value - before.value;
  if (now.lower === null || now.upper === null || before.lower === null || before.upper === null)
    return { change, lower: null, upper: null };
  return {
    change,
    lower: change - Math.hypot(now.value - now.lower, before.upper - before.value),
    upper: change + Math.hypot(now.upper - now.value, before.value - before.lower),
  };
}

/** Returns the two-sided p value of a change; null if it cannot be tested. */
export function pValue(kind: string, now: Estimate, before: Estimate): number | null {
  if (kind === 'count' || now.value === null || before.value === null) return null;
  if (kind === 'share') {
    const [k, total] = [now.part + before.part, now.n + before.n];
    if (total <= 1_000) return midP([before.part, before.n], [now.part, now.n]);
    if (k === 0 || k === total) return null;
    const pooled = k / total;
    const error = Math.sqrt(pooled * (1 - pooled) * (1 / now.n + 1 / before.n));
    return normalTails(Math.abs(now.value - before.value) / error);
  }
  if (now.reach === null || before.reach === null) return null;
  const error = Math.hypot(now.reach, before.reach) / Z95;
  return error < 1e-7 ? null : normalTails(Math.abs(now.value - before.value) / error);
}

/** Corrects p values by Benjamini and Hochberg: the least p * tests / rank of an equal or greater p value. */
export function adjust(values: readonly (number | null)[]): (number | null)[] {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const adjusted = new Map<number, number>();
  let least = 1;
  for (const [index, value] of [...known.entries()].reverse()) {
    least = Math.min(least, (value * known.length) / (index + 1));
    // The first of equal p values that is met has the highest rank.
    if (!adjusted.has(value)) adjusted.set(value, least);
  }
  return values.map((value) => (value === null ? null : (adjusted.get(value) ?? null)));
}

/**
 * Fisher's exact test of `x` of `n` and `y` of `k` with half the probability of the outcome itself; null if only one outcome is
 * possible. Probabilities of the hypergeometric distribution by their ratio to the one before, scaled to a sum of 1.
 */
export function midP([x, n]: Counted, [y, k]: Counted): number | null {
  const mentions = x + y;
  if (mentions === 0 || mentions === n + k) return null;
  const least = Math.max(0, mentions - n);
  const logs = [0];
  for (let i = least; i < Math.min(k, mentions); i++)
    logs.push((logs.at(-1) as number) + Math.log(((mentions - i) * (k - i)) / ((i + 1) * (n - mentions + i + 1))));
  const top = Math.max(...logs);
  return twoSided(
    logs.map((log) => Math.exp(log - top)),
    y - least,
  );
}

/** The same for `a` against `b` events that are equally likely. */
export function binomialMidP(a: number, b: number): number | null {
  if (a + b === 0) return null;
  const weights = [1];
  for (let i = 0; i < a + b; i++) weights.push(((weights[i] as number) * (a + b - i)) / (i + 1));
  return twoSided(weights, a);
}

/**
 * The test of Mantel and Haenszel, of whether `recent` changed within any of several strata of mentions and responses: [before, recent]
 * of each. 1 if no stratum says anything.
 */
export function mantelHaenszel(strata: readonly (readonly [Counted, Counted])[]): { p: number; surplus: number } {
  let [surplus, variance] = [0, 0];
  for (const [[x, n], [y, k]] of strata) {
    const [mentions, all] = [x + y, n + k];
    surplus += y - (k * mentions) / all;
    if (all > 1) variance += (n * k * mentions * (all - mentions)) / (all * all * (all - 1));
  }
  return { p: variance === 0 ? 1 : normalTails(Math.abs(surplus) / Math.sqrt(variance)), surplus };
}

type Counted = readonly [number, number];

function twoSided(weights: readonly number[], place: number): number {
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const below = weights.slice(0, place).reduce((all, weight) => all + weight, 0) + (weights[place] as number) / 2;
  return Math.min(1, (2 * Math.min(below, sum - below)) / sum);
}

// Simpson's rule from z to z + 12; the rest is less than 1e-30 of the tail.
function normalTails(z: number, steps = 1_000): number {
  const width = 12 / steps;
  let sum = 0;
  for (let index = 0; index <= steps; index++) {
    const weight = index === 0 || index === steps ? 1 : index % 2 === 0 ? 2 : 4;
    sum += weight * Math.exp(-((z + index * width) ** 2) / 2);
  }
  return (2 * sum * width) / 3 / Math.sqrt(2 * Math.PI);
}

/** The z whose two normal tails have this probability, by bisection. */
export function quantile(tails: number): number {
  let [low, high] = [1, 10];
  for (let step = 0; step < 60; step++) {
    const z = (low + high) / 2;
    if (normalTails(z, 20_000) > tails) low = z;
    else high = z;
  }
  return low;
}
