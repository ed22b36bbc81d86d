import { round } from '../numbers/definitions.ts';
import { isSame, spread } from './candidates.ts';
import type { Rounding } from './conventions.ts';
import { DECIMALS_MAX, decimalsOf } from './forms.ts';

/** A mean sentiment that upstream reported, and the stored count of each label, in the labels' order. */
export interface LabelRow {
  readonly times: readonly number[];
  readonly reported: number;
}

/** The worth of each label, in the labels' order; null for a label excluded from the mean. */
export type LabelWeights = readonly (number | null)[];

/** Rounding modes that differ for more values than exact halves, most likely first. */
export const ROUNDING_MODES = ['half-away', 'down'] as const;

/** Grid steps to search, coarsest first; the last one approximates any worth. */
const GRIDS = [1, 0.5, 0.25, 0.1, 0.01, 1e-6];
/** Maximum number of rows to search with. */
const SEARCHED_MAX = 400;
const CLIMBS_MAX = 8;
const PASSES_MAX = 60;
/** Relaxation factor of the projections: above 1, they end inside the allowed region and not on its border. */
const RELAXATION = 1.9;
/** Number of times the outliers are removed, and the share of rows that each time keeps. */
const TRIMS = 4;
const KEPT = 0.9;
/** If a smaller share of the rows is explained, try excluding single labels from the mean. */
const EXPLAINED_LEAST = 0.95;
/** Maximum number of labels to try excluding. */
const LEFT_OUT_MAX = 6;

/**
 * Searches worths whose means equal the reported ones. Candidates are ordered: common roundings first, then without
 * excluded labels, then coarse grids. `occurring` are indices of labels in the `width` columns.
 */
export function searchLabelWeights(
  occurring: readonly number[],
  rows: readonly LabelRow[],
  width: number,
): LabelWeights[] {
  const searched = spread(rows, SEARCHED_MAX);
  const decimals = mostDecimals(searched);
  const found: LabelWeights[] = [];
  const isExplained = (included: readonly number[], mode: Rounding['mode']): boolean => {
    const rounding = { decimals, mode };
    let explained = 0;
    for (const trims of [0, TRIMS]) {
      const nearest = nearestWeights(included, searched, width, rounding, trims);
      if (nearest === null || explained >= EXPLAINED_LEAST) break;
      const guesses = [nearest.weights, withinBounds(nearest.weights, nearest.rows, rounding)];
      for (const grid of GRIDS) {
        for (const guess of guesses) {
          const climbed = climb(onGrid(guess, grid), grid, searched, rounding);
          const { agreed } = score(climbed, searched, rounding);
          found.push(climbed);
          if (agreed === searched.length) return true;
          explained = Math.max(explained, agreed / searched.length);
        }
      }
    }
    return explained >= EXPLAINED_LEAST;
  };
  if (ROUNDING_MODES.some((mode) => isExplained(occurring, mode)) || occurring.length < 2) return found;
  // Upstream may exclude a label from the mean, also from its count.
  occurring.slice(0, LEFT_OUT_MAX).some((left) => isExplained(without(occurring, left), ROUNDING_MODES[0]));
  return found;
}

/** Returns the number of rows the worths explain, and the summed absolute error of the others. A mean of excluded labels only may be 0. */
export function score(
  weights: LabelWeights,
  rows: readonly LabelRow[],
  rounding: Rounding,
): { agreed: number; error: number } {
  let agreed = 0;
  let error = 0;
  for (const { times, reported } of rows) {
    let sum = 0;
    let count = 0;
    for (let index = 0; index < times.length; index++) {
      const weight = weights[index] ?? null;
      if (weight === null) continue;
      sum += (times[index] as number) * weight;
      count += times[index] as number;
    }
    if (count === 0) {
      agreed += Number(reported === 0);
      continue;
    }
    const value = round(rounding, sum / count) as number;
    if (isSame(value, reported)) agreed += 1;
    else error += Math.abs(value - reported);
  }
  return { agreed, error };
}

// Leaves out rows if all of their labels are excluded.
function meansOf(weights: LabelWeights, rows: readonly LabelRow[]) {
  return rows.flatMap(({ times, reported }) => {
    let [sum, count] = [0, 0];
    for (const [index, number] of times.entries()) {
      const weight = weights[index] ?? null;
      if (weight === null) continue;
      sum += number * weight;
      count += number;
    }
    return count === 0 ? [] : [{ sum, count, reported }];
  });
}

// Rows read at a different time are outliers that bias least squares, so remove the farthest ones repeatedly.
function nearestWeights(
  included: readonly number[],
  rows: readonly LabelRow[],
  width: number,
  rounding: Rounding,
  trims: number,
): { weights: LabelWeights; rows: readonly LabelRow[] } | null {
  let kept = rows;
  let weights = leastSquares(included, kept, width, rounding);
  for (let round = 0; round < trims && weights !== null; round++) {
    const far = distances(weights, rows, rounding);
    const most = far.toSorted((a, b) => a - b)[Math.floor(KEPT * (rows.length - 1))] ?? 0;
    kept = rows.filter((_, index) => (far[index] ?? 0) <= most);
    weights = leastSquares(included, kept, width, rounding);
  }
  return weights === null ? null : { weights, rows: kept };
}

// Distances of the means from the reported values or, if digits were truncated, from the middle of the interval.
function distances(weights: LabelWeights, rows: readonly LabelRow[], rounding: Rounding): number[] {
  const cut = cutOf(rounding);
  return rows.map((row) => {
    const [mean] = meansOf(weights, [row]);
    return mean === undefined ? 0 : Math.abs(mean.sum / mean.count - row.reported - Math.sign(row.reported) * cut);
  });
}

// Returns the least-squares worths, or null if the rows do not determine them.
function leastSquares(
  included: readonly number[],
  rows: readonly LabelRow[],
  width: number,
  rounding: Rounding,
): LabelWeights | null {
  const size = included.length;
  const matrix = included.map(() => new Array<number>(size + 1).fill(0));
  const cut = cutOf(rounding);
  for (const { times, reported } of rows) {
    const parts = included.map((index) => times[index] ?? 0);
    const total = parts.reduce((a, b) => a + b, 0);
    if (total === 0) continue;
    for (const [at, line] of matrix.entries()) {
      const weight = (parts[at] ?? 0) / total;
      if (weight === 0) continue;
      for (const [index, part] of parts.entries()) line[index] = (line[index] ?? 0) + (weight * part) / total;
      line[size] = (line[size] ?? 0) + weight * (reported + Math.sign(reported) * cut);
    }
  }
  const solved = solve(matrix);
  if (solved === null) return null;
  const weights: (number | null)[] = new Array<null>(width).fill(null);
  for (const [at, index] of included.entries()) weights[index] = solved[at] ?? null;
  return weights;
}

// Adjusts worths until every mean lies within its rounding interval. Each row is a lower and an upper bound. This is the
// relaxation method for linear inequalities (Agmon 1954; Motzkin and Schoenberg 1954).
function withinBounds(start: LabelWeights, rows: readonly LabelRow[], { decimals, mode }: Rounding): LabelWeights {
  if (decimals === null) return start;
  const half = 0.5 / 10 ** decimals;
  const weights = [...start];
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    let isWithin = true;
    for (const { times, reported } of rows) {
      let [total, sum, squares] = [0, 0, 0];
      for (let index = 0; index < times.length; index++) {
        const weight = weights[index] ?? null;
        if (weight === null) continue;
        const number = times[index] as number;
        total += number;
        sum += number * weight;
        squares += number * number;
      }
      const excess = sum / total - (reported + (mode === 'down' ? Math.sign(reported) * half : 0));
      // Truncation yields 0 from both sides.
      const bound = mode === 'down' && reported === 0 ? 2 * half : half;
      if (total === 0 || Math.abs(excess) <= bound) continue;
      isWithin = false;
      const step = (RELAXATION * (excess - Math.sign(excess) * bound) * total) / squares;
      for (const [index, number] of times.entries()) {
        const weight = weights[index] ?? null;
        if (weight !== null) weights[index] = weight - step * number;
      }
    }
    if (isWithin) break;
  }
  return weights;
}

// Gaussian elimination with pivoting of an augmented square matrix; null if it is singular.
function solve(matrix: number[][]): number[] | null {
  const size = matrix.length;
  const scale = Math.max(0, ...matrix.map((line, index) => line[index] ?? 0));
  for (let column = 0; column < size; column++) {
    const rest = matrix.slice(column);
    const pivot = rest.reduce((a, b) => (Math.abs(b[column] ?? 0) > Math.abs(a[column] ?? 0) ? b : a));
    if (Math.abs(pivot[column] ?? 0) <= 1e-9 * scale) return null;
    matrix.splice(matrix.indexOf(pivot), 1);
    matrix.splice(column, 0, pivot);
    for (const line of matrix) {
      if (line === pivot) continue;
      const factor = (line[column] ?? 0) / (pivot[column] ?? 1);
      for (let index = column; index <= size; index++) line[index] = (line[index] ?? 0) - factor * (pivot[index] ?? 0);
    }
  }
  return matrix.map((line, index) => (line[size] ?? 0) / (line[index] ?? 1));
}

// Hill climbing: moves to neighbours on the grid while they explain more rows, or as many with a smaller error.
function climb(start: LabelWeights, grid: number, rows: readonly LabelRow[], rounding: Rounding): LabelWeights {
  let best = start;
  let reached = score(best, rows, rounding);
  for (let pass = 0; pass < CLIMBS_MAX && reached.agreed < rows.length; pass++) {
    const before = reached;
    for (const [index, weight] of start.entries()) {
      if (weight === null) continue;
      for (const steps of [1, -1, 2, -2, 5, -5]) {
        const moved = best.map((value, at) =>
          at === index && value !== null ? snap(value + steps * grid, grid) : value,
        );
        const result = score(moved, rows, rounding);
        if (result.agreed < reached.agreed || (result.agreed === reached.agreed && result.error >= reached.error))
          continue;
        best = moved;
        reached = result;
      }
    }
    if (reached === before) break;
  }
  return best;
}

// Truncation removes half a unit on average.
function cutOf({ decimals, mode }: Rounding): number {
  return mode === 'down' ? 0.5 / 10 ** (decimals ?? DECIMALS_MAX) : 0;
}

/** Returns the most decimal places of any reported value; null if a value is not rounded. */
export function mostDecimals(rows: readonly LabelRow[]): number | null {
  const decimals = rows.map(({ reported }) => decimalsOf(reported));
  return decimals.includes(null) ? null : Math.max(0, ...decimals.map(Number));
}

function without(places: readonly number[], left: number): number[] {
  return places.filter((index) => index !== left);
}

function onGrid(weights: LabelWeights, grid: number): LabelWeights {
  return weights.map((weight) => (weight === null ? null : snap(weight, grid)));
}

// Divides by an integer, so that 0.1 is exactly the literal 0.1.
function snap(value: number, grid: number): number {
  const perOne = Math.round(1 / grid);
  const snapped = Math.round(value * perOne) / perOne;
  return snapped === 0 ? 0 : snapped;
}
