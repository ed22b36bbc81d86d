/** A sample unit: its value and its size. */
interface Unit {
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

const Z = 1.959963984540054;

/** Computes a measure and its interval from its sample units. `isFraction` is whether it is from 0 to 1. */
export function estimate(kind: string, isFraction: boolean, units: readonly Unit[]): Estimate {
  const none = { lower: null, upper: null, reach: null };
  const n = units.length;
  const part = units.reduce((sum, { y }) => sum + y, 0);
  if (kind === 'count') return { n, value: part, part, whole: null, ...none };
  const whole = units.reduce((sum, { x }) => sum + x, 0);
  if (n === 0) return { n, value: null, part, whole, ...none };
  const value = part / whole;
  if (kind === 'share') return { n, value, part, whole, ...wilson(part, n), reach: null };
  if (n < 30) return { n, value, part, whole, ...none };
  const squares = units.reduce((sum, { y, x }) => sum + (y - value * x) ** 2, 0);
  const reach = (Z * Math.sqrt((n / (n - 1)) * squares)) / whole;
  const isFlat = isFraction && units.every(({ y, x }) => Math.abs(y / x - value) < 1e-9);
  const bounds = isFlat ? wilson(value * n, n) : { lower: value - reach, upper: value + reach };
  return { n, value, part, whole, ...bounds, reach };
}

// The score interval solves (p - k / n)^2 = z^2 p (1 - p) / n.
/** Computes the 95 % interval of a share. */
export function wilson(k: number, n: number): { lower: number; upper: number } {
  const [a, b, c] = [n + Z * Z, -(2 * k + Z * Z), (k * k) / n];
  const root = Math.sqrt(b * b - 4 * a * c);
  return { lower: (-b - root) / (2 * a), upper: (-b + root) / (2 * a) };
}

/** Returns the two-sided p value of a change; null if it cannot be tested. */
export function pValue(kind: string, now: Estimate, before: Estimate): number | null {
  if (kind === 'count' || now.value === null || before.value === null) return null;
  if (kind === 'share') {
    const [k, total] = [now.part + before.part, now.n + before.n];
    if (k === 0 || k === total) return null;
    if (total <= 1_000) return midP(now.part, now.n, k, total);
    const pooled = k / total;
    const error = Math.sqrt(pooled * (1 - pooled) * (1 / now.n + 1 / before.n));
    return normalTails(Math.abs(now.value - before.value) / error);
  }
  if (now.reach === null || before.reach === null) return null;
  const error = Math.hypot(now.reach, before.reach) / Z;
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

// Probabilities of the hypergeometric distribution by their ratio to the one before, scaled to a sum of 1.
function midP(part: number, n: number, k: number, total: number): number {
  const least = Math.max(0, k - (total - n));
  const most = Math.min(n, k);
  const logs = [0];
  for (let i = least; i < most; i++) {
    logs.push((logs.at(-1) as number) + Math.log((k - i) * (n - i)) - Math.log((i + 1) * (total - n - k + i + 1)));
  }
  const top = Math.max(...logs);
  const weights = logs.map((log) => Math.exp(log - top));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const own = weights[part - least] as number;
  const below = weights.slice(0, part - least).reduce((all, weight) => all + weight, 0) + own / 2;
  return Math.min(1, (2 * Math.min(below, sum - below)) / sum);
}

// Simpson's rule from z to z + 12; the rest is less than 1e-30 of the tail.
function normalTails(z: number): number {
  const steps = 1_000;
  const width = 12 / steps;
  let sum = 0;
  for (let index = 0; index <= steps; index++) {
    const weight = index === 0 || index === steps ? 1 : index % 2 === 0 ? 2 : 4;
    sum += weight * Math.exp(-((z + index * width) ** 2) / 2);
  }
  return (2 * sum * width) / 3 / Math.sqrt(2 * Math.PI);
}
