import type { Rounding } from './conventions.ts';
import { round } from './definitions.ts';
import { AGREEING_LEAST, type Finding, isSame, ROWS_LEAST, spread } from './fit.ts';
import { fitMean, type MeanRow } from './fit-numbers.ts';

/** A mean sentiment that upstream reported, and how often we counted each label for it, in the labels' order. */
export interface LabelRow {
  readonly times: readonly number[];
  readonly reported: number;
}

/** What labels are worth, and how their mean is rounded. */
export interface LabelFindings {
  readonly labels: Finding<Readonly<Record<string, number>>>;
  readonly sentiment: Finding<Rounding>;
}

/** Worths by label, in the labels' order; null for a label that is left out of the mean. */
type Worths = readonly (number | null)[];

/** The ways of rounding that differ in more than halves, the likelier first. */
const MODES = ['half-away', 'down'] as const;
type Mode = (typeof MODES)[number];

/** Steps that worths are looked for on, the coarsest first, and the one that catches all others. */
const GRIDS = [1, 0.5, 0.25, 0.1, 0.01, 1e-6];
/** Rows among which worths are looked for; all rows judge them. */
const SEARCHED_MAX = 1_500;
const PASSES_MAX = 12;
/** What is nearly as good as the best may be so by chance, where none is perfect. */
const NEARLY = 0.995;

/** Finds the number that each label stands for, by least squares and then on the coarsest grid that explains the rows. */
export function fitLabels(
  labels: readonly string[],
  rows: readonly LabelRow[],
  prior: { readonly labels: Readonly<Record<string, number>>; readonly sentiment: Rounding },
): LabelFindings {
  const occurring = labels.flatMap((_, index) => (rows.some(({ times }) => (times[index] ?? 0) > 0) ? [index] : []));
  const priorWorths: Worths = labels.map((label) => worthIn(prior.labels, label));
  const searched = spread(rows, SEARCHED_MAX);
  const tried = [priorWorths, ...search(occurring, searched, labels.length)].map((worths) => {
    return { worths, agreed: Math.max(...MODES.map((mode) => score(worths, rows, mode).agreed)) };
  });
  const most = Math.max(...tried.map(({ agreed }) => agreed));
  const enough = most === rows.length ? most : NEARLY * most;
  const chosen = (tried.find(({ agreed }) => agreed >= enough) as (typeof tried)[number]).worths;
  const sentiment = fitMean(meansOf(chosen, rows), prior.sentiment);
  const { agreed, largestError } = sentiment;
  const undetermined = occurring
    .filter((index) => !isDetermined(index, chosen, rows, sentiment.value))
    .map((index) => labels[index]);
  const fits = agreed >= AGREEING_LEAST * rows.length;
  // As many worths as there are rows explain any rows.
  const free = chosen === priorWorths ? 0 : occurring.length;
  const isLearned = fits && agreed >= ROWS_LEAST + free && undetermined.length < occurring.length;
  const value = named(labels, chosen, prior.labels);
  const inWords = Object.entries(value).map(([label, worth]) => `${label} ${worth}`);
  const open = undetermined.length === 0 ? '' : `; nothing shows what these are worth: ${undetermined.join(', ')}`;
  const finding: LabelFindings['labels'] = {
    value: isLearned ? value : prior.labels,
    source: isLearned ? 'learned' : 'default',
    compared: rows.length,
    agreed,
    largestError,
    note: isLearned ? `${inWords.join(', ')}${open}` : noteOf(rows.length, fits, sentiment),
    contradicted: !fits && rows.length >= ROWS_LEAST,
  };
  return { labels: finding, sentiment };
}

function noteOf(rows: number, fits: boolean, { agreed, largestError }: Finding<Rounding>): string {
  if (rows === 0) return 'too little evidence: no row to compare';
  if (fits || rows < ROWS_LEAST) return `too little evidence: ${rows} ${rows === 1 ? 'row' : 'rows'}`;
  const error = largestError === null ? '' : `, largest error ${Number(largestError.toPrecision(6))}`;
  return `no worths explain the means: the best agree with ${agreed} of ${rows} rows${error}`;
}

// What explains most rows, the likelier ways first: of rounding, then of counting all labels, then of coarse grids.
function search(occurring: readonly number[], rows: readonly LabelRow[], width: number): Worths[] {
  // A label may count for nothing: not even as one of those whose mean it is.
  const lacking = occurring.length < 2 ? [] : occurring.map((left) => occurring.filter((index) => index !== left));
  const found: Worths[] = [];
  for (const included of [occurring, ...lacking]) {
    for (const mode of MODES) {
      const guess = leastSquares(included, rows, width, mode);
      if (guess === null) continue;
      for (const grid of GRIDS) {
        const climbed = climb(onGrid(guess, grid), grid, rows, mode);
        found.push(climbed);
        if (score(climbed, rows, mode).agreed === rows.length) return found;
      }
    }
  }
  return found;
}

// The worths whose means are nearest to what was reported; null where rows do not determine them.
function leastSquares(
  included: readonly number[],
  rows: readonly LabelRow[],
  width: number,
  mode: Mode,
): Worths | null {
  const size = included.length;
  const matrix = included.map(() => new Array<number>(size + 1).fill(0));
  // What was cut off is half a unit in the mean.
  const cut = mode === 'down' ? 0.5 / 10 ** (decimalsOf(rows) ?? DECIMALS_MAX) : 0;
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
  const worths: (number | null)[] = new Array<null>(width).fill(null);
  for (const [at, index] of included.entries()) worths[index] = solved[at] ?? null;
  return worths;
}

// Gaussian elimination with pivots, of a square matrix with one column more.
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

// Walks to the neighbours on the grid for as long as they explain more rows, or leave smaller errors.
function climb(start: Worths, grid: number, rows: readonly LabelRow[], mode: Mode): Worths {
  let best = start;
  let reached = score(best, rows, mode);
  for (let pass = 0; pass < PASSES_MAX && reached.agreed < rows.length; pass++) {
    const before = reached;
    for (const [index, worth] of start.entries()) {
      if (worth === null) continue;
      for (const steps of [1, -1, 2, -2, 5, -5]) {
        const moved = best.map((value, at) =>
          at === index && value !== null ? snap(value + steps * grid, grid) : value,
        );
        const result = score(moved, rows, mode);
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

// How many rows the worths explain, and by how much they miss the others.
function score(worths: Worths, rows: readonly LabelRow[], mode: Mode): { agreed: number; error: number } {
  const decimals = decimalsOf(rows);
  let [agreed, error] = [0, 0];
  for (const { sum, count, reported } of meansOf(worths, rows)) {
    const value = round({ decimals, mode }, sum / count) as number;
    if (isSame(value, reported)) agreed += 1;
    else error += Math.abs(value - reported);
  }
  return { agreed, error };
}

function meansOf(worths: Worths, rows: readonly LabelRow[]): MeanRow[] {
  return rows.flatMap(({ times, reported }) => {
    let [sum, count] = [0, 0];
    for (const [index, number] of times.entries()) {
      const worth = worths[index] ?? null;
      if (worth === null) continue;
      sum += number * worth;
      count += number;
    }
    return count === 0 ? [] : [{ sum, count, reported }];
  });
}

// Another worth would explain fewer rows.
function isDetermined(index: number, worths: Worths, rows: readonly LabelRow[], rounding: Rounding): boolean {
  const known = worths.filter((worth) => worth !== null);
  const distance = (Math.max(...known) - Math.min(...known)) / 10 || 1;
  const agreedBy = (tried: Worths): number =>
    meansOf(tried, rows).filter(({ sum, count, reported }) => isSame(round(rounding, sum / count), reported)).length;
  const agreed = agreedBy(worths);
  return [distance, -distance].some((step) => {
    const moved = worths.map((worth, at) => (at === index && worth !== null ? worth + step : worth));
    return agreedBy(moved) < agreed;
  });
}

// Labels that never occurred keep the worth they had before, where all others have theirs too.
function named(labels: readonly string[], worths: Worths, prior: Readonly<Record<string, number>>) {
  const found = Object.fromEntries(
    labels.flatMap((label, index) =>
      worths[index] === null || worths[index] === undefined ? [] : [[label, worths[index]]],
    ),
  ) as Record<string, number>;
  const isAsBefore = Object.entries(found).every(([label, worth]) => worthIn(prior, label) === worth);
  return isAsBefore ? { ...prior, ...found } : found;
}

const DECIMALS_MAX = 6;
const decimalsKnown = new WeakMap<readonly LabelRow[], number | null>();

// As many digits as the longest number has; null when they do not end.
function decimalsOf(rows: readonly LabelRow[]): number | null {
  const known = decimalsKnown.get(rows);
  if (known !== undefined) return known;
  let decimals: number | null = 0;
  for (const { reported } of rows) {
    while (decimals !== null && !isSame(round({ decimals, mode: 'half-away' }, reported), reported)) {
      decimals = decimals === DECIMALS_MAX ? null : decimals + 1;
    }
  }
  decimalsKnown.set(rows, decimals);
  return decimals;
}

function worthIn(labels: Readonly<Record<string, number>>, label: string): number | null {
  return Object.hasOwn(labels, label) ? (labels[label] ?? null) : null;
}

function onGrid(worths: Worths, grid: number): Worths {
  return worths.map((worth) => (worth === null ? null : snap(worth, grid)));
}

// Divided by a whole number where that is possible, so that a tenth is the tenth that people write.
function snap(value: number, grid: number): number {
  const perOne = Math.round(1 / grid);
  const snapped = Math.round(value * perOne) / perOne;
  return snapped === 0 ? 0 : snapped;
}
