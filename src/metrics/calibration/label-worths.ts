import { AGREEING_LEAST, ROWS_LEAST, spread } from './candidates.ts';
import { type Conventions, defaultConventions } from './conventions.ts';
import { decimalsOf, UNROUNDED } from './forms.ts';
import { type CalibrationPoint, type Facts, isAbout, type PointContext } from './points/point.ts';

type Worths = Conventions['labels'];

/** A mean sentiment that upstream reported, and the share of each label in the mentions with a label, in the labels' order. */
export interface LabelRow {
  readonly shares: readonly number[];
  readonly reported: number;
}

/** Label of mentions without a label. */
const UNLABELLED = '';
/** Maximum number of responses, those with most means, and of their rows, from which worths are inferred. */
const ANSWERS_MAX = 2;
const ROWS_MAX = 1_000;
/** Steps of worths, coarsest first. */
const STEPS = [1, 0.5, 0.25, 0.1, 0.01, 1e-6];
const NEAR = 1e-9;

/** Returns the worths that explain upstream's mean sentiments, if there are any. */
export async function findWorths(point: CalibrationPoint, context: PointContext): Promise<Worths[]> {
  const labels = [...context.labels.filter((label) => label !== UNLABELLED), UNLABELLED];
  const rows = await readLabelRows(point, { ...context, labels });
  const found = chooseWorths(labels, spread(rows, ROWS_MAX), defaultConventions.labels);
  return found === null ? [] : [found];
}

/**
 * Returns the coarsest worths of the labels that explain the rows; null if none do, or if there are too few rows. A label is excluded from
 * the mean only if the rows cannot be explained otherwise, and mentions without a label are included only then.
 */
export function chooseWorths(labels: readonly string[], rows: readonly LabelRow[], prior: Worths): Worths | null {
  const occurring = labels.filter((_, index) => rows.some(({ shares }) => shares[index] !== 0));
  const named = occurring.filter((label) => label !== UNLABELLED);
  const without = (left: string): string[] => named.filter((label) => label !== left);
  for (const included of [named, occurring, ...named.map(without)]) {
    const found = fitWorths(included, labels, rows);
    if (found === null) continue;
    // If every found worth is that of before, labels that did not occur keep theirs too.
    return Object.entries(found).every(([label, worth]) => prior[label] === worth) ? { ...prior, ...found } : found;
  }
  return null;
}

// Finds the worths by least squares, and rounds them to the coarsest step that explains most rows, whether upstream rounds or truncates
// means. Least squares are too inexact for worths as small as the last digit, so means of rows with a single label are tried too.
function fitWorths(included: readonly string[], labels: readonly string[], all: readonly LabelRow[]): Worths | null {
  const rows = all.flatMap(({ shares, reported }) => {
    const own = included.map((label) => shares[labels.indexOf(label)] ?? 0);
    const whole = own.reduce((sum, share) => sum + share, 0);
    return whole < NEAR ? [] : [{ shares: own.map((share) => share / whole), reported }];
  });
  const decimals = rows.map(({ reported }) => decimalsOf(reported));
  const half = decimals.includes(null) ? 0 : 0.5 / 10 ** Math.max(...decimals.map(Number));
  // As many worths as rows explain any rows.
  if (rows.length < ROWS_LEAST + included.length) return null;
  const alone = included.flatMap((_, at) => rows.find(({ shares }) => (shares[at] ?? 0) > 1 - NEAR)?.reported ?? []);
  let best: { readonly worths: readonly number[]; readonly explained: number } | null = null;
  for (const cut of [0, half]) {
    const middles = rows.map(({ shares, reported }) => ({ shares, reported: reported + Math.sign(reported) * cut }));
    const exact = leastSquares(middles, included.length);
    // Divides by an integer, so that 0.1 is exactly the literal 0.1.
    const rounded =
      exact === null
        ? []
        : STEPS.map((step) => exact.map((worth) => Math.round(worth / step) / Math.round(1 / step) + 0));
    for (const worths of alone.length === included.length ? [...rounded, alone] : rounded) {
      const explained = middles.filter(({ shares, reported }) => {
        const mean = shares.reduce((sum, share, index) => sum + share * (worths[index] ?? 0), 0);
        // A truncated mean of 0 can have either sign.
        const width = reported === 0 ? half + cut : half;
        return Math.abs(mean - reported) <= width + NEAR * Math.max(1, Math.abs(reported));
      }).length;
      if (explained > (best?.explained ?? 0)) best = { worths, explained };
    }
  }
  if (best === null || best.explained < AGREEING_LEAST * rows.length) return null;
  return Object.fromEntries(included.map((label, index) => [label, best.worths[index] ?? 0]));
}

// Returns the worths with the smallest squared differences from the reported means; null if the rows do not determine them.
function leastSquares(rows: readonly LabelRow[], size: number): number[] | null {
  const matrix = Array.from({ length: size }, () => new Array<number>(size + 1).fill(0));
  for (const { shares, reported } of rows) {
    for (const [at, line] of matrix.entries()) {
      for (let index = 0; index <= size; index++)
        line[index] = (line[index] ?? 0) + (shares[at] ?? 0) * (shares[index] ?? reported);
    }
  }
  // Gauss-Jordan elimination. The matrix is positive semidefinite, so that no pivoting is needed.
  for (const [column, pivot] of matrix.entries()) {
    const divisor = pivot[column] ?? 0;
    if (divisor < NEAR * rows.length) return null;
    for (let index = column; index <= size; index++) pivot[index] = (pivot[index] ?? 0) / divisor;
    for (const line of matrix) {
      if (line === pivot) continue;
      const factor = line[column] ?? 0;
      for (let index = column; index <= size; index++) line[index] = (line[index] ?? 0) - factor * (pivot[index] ?? 0);
    }
  }
  return matrix.map((line) => line[size] ?? 0);
}

// Computes the share of each label as the mean sentiment if that label is worth 1 and the others 0.
async function readLabelRows(
  point: CalibrationPoint,
  { answers, conventions, compute, labels }: PointContext,
): Promise<LabelRow[]> {
  const rows: LabelRow[] = [];
  const about = answers
    .filter((answer) => isAbout(point, answer))
    .map((answer) => ({ answer, means: [...valuesIn(point.facts(answer, answer))] }))
    .toSorted((a, b) => b.means.length - a.means.length);
  for (const { answer, means } of about.slice(0, ANSWERS_MAX)) {
    const shares: ReadonlyMap<string, unknown>[] = [];
    for (const label of labels) {
      const worths = Object.fromEntries(labels.map((other) => [other, Number(other === label)]));
      const response = await compute(answer, answer.askedAt, { ...conventions, sentiment: UNROUNDED, labels: worths });
      shares.push(valuesIn(point.facts(response, answer)));
    }
    for (const [subject, reported] of means) {
      const own = shares.flatMap((values) =>
        typeof values.get(subject) === 'number' ? [Number(values.get(subject))] : [],
      );
      if (own.length === labels.length) rows.push({ shares: own, reported: Number(reported) });
    }
  }
  return rows;
}

function valuesIn(facts: Facts): ReadonlyMap<string, unknown> {
  return facts.kind === 'values' ? facts.values : new Map();
}
