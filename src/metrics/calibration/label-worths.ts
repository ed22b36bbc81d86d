import { AGREEING_LEAST, ROWS_LEAST, spread } from './candidates.ts';
import { type Conventions, defaultConventions, roundingModes } from './conventions.ts';
import { UNROUNDED } from './forms.ts';
import { mostDecimals, type LabelRow, type LabelWeights, score, searchLabelWeights } from './label-weights.ts';
import { type CalibrationPoint, type Facts, isAbout, type PointContext } from './points/point.ts';

type Worths = Conventions['labels'];

/** If no candidate explains every row, candidates within this factor of the best count as equally good. */
const NEARLY = 0.995;
/** Label of mentions without a label. */
const UNLABELLED = '';
/** Maximum number of responses, those with most means, and of their rows, from which worths are inferred. */
const ANSWERS_MAX = 4;
const ROWS_MAX = 1_000;

/** Returns the worths of labels that upstream's mean sentiments suggest, and those used so far. */
export async function findWorths(point: CalibrationPoint, context: PointContext): Promise<Worths[]> {
  const { labels: used } = context.conventions;
  const labels = context.labels.filter((label) => label !== UNLABELLED);
  const rows = await readLabelRows(point, { ...context, labels });
  const found = chooseWorths(labels, spread(rows, ROWS_MAX), defaultConventions.labels);
  return found === null ? [used] : [used, found];
}

/**
 * Returns the worths of the labels that explain the rows; null if no worths explain them, or if there are too few rows. The last count of
 * each row is that of mentions without a label; they get a worth only if the means cannot be explained without.
 */
export function chooseWorths(labels: readonly string[], rows: readonly LabelRow[], prior: Worths): Worths | null {
  const labelled = rows.flatMap(({ times, reported }) => {
    const named = times.slice(0, -1);
    return named.some((count) => count > 0) ? [{ times: named, reported }] : [];
  });
  const plain = fitWorths(labels, labelled, prior);
  if (plain.explains || labelled.length === rows.length) return plain.worths;
  const all = fitWorths([...labels, UNLABELLED], rows, prior);
  return all.worths ?? plain.worths;
}

interface FittedWorths {
  readonly explains: boolean;
  readonly worths: Worths | null;
}

// Finds the worth of each label: by least squares, then on the coarsest grid that explains the rows.
function fitWorths(labels: readonly string[], rows: readonly LabelRow[], prior: Worths): FittedWorths {
  const occurring = labels.flatMap((_, index) => (rows.some(({ times }) => (times[index] ?? 0) > 0) ? [index] : []));
  const priorWeights: LabelWeights = labels.map((label) => weightIn(prior, label));
  const decimals = mostDecimals(rows);
  const tried = [priorWeights, ...searchLabelWeights(occurring, rows, labels.length)].map((weights) => ({
    weights,
    agreed: Math.max(...roundingModes.map((mode) => score(weights, rows, { decimals, mode }).agreed)),
  }));
  const most = Math.max(...tried.map(({ agreed }) => agreed));
  const enough = most === rows.length ? most : NEARLY * most;
  const { weights } = tried.find(({ agreed }) => agreed >= enough) as (typeof tried)[number];
  const explains = most >= AGREEING_LEAST * rows.length;
  // N free worths can explain any N rows, so require more rows than that.
  const free = weights === priorWeights ? 0 : occurring.length;
  return { explains, worths: explains && most >= ROWS_LEAST + free ? named(labels, weights, prior) : null };
}

// If every found worth equals the prior one, labels that never occurred keep their prior worth too.
function named(labels: readonly string[], weights: LabelWeights, prior: Worths): Worths {
  const found = Object.fromEntries(
    labels.flatMap((label, index) => {
      const weight = weights[index] ?? null;
      return weight === null ? [] : [[label, weight]];
    }),
  );
  const isAsBefore = Object.entries(found).every(([label, weight]) => weightIn(prior, label) === weight);
  return isAsBefore ? { ...prior, ...found } : found;
}

function weightIn(worths: Worths, label: string): number | null {
  return Object.hasOwn(worths, label) ? (worths[label] ?? null) : null;
}

// Counts labels by computing the share of each: the mean sentiment if it alone is worth something.
async function readLabelRows(
  point: CalibrationPoint,
  { answers, conventions, compute, labels }: PointContext,
): Promise<LabelRow[]> {
  const rows: LabelRow[] = [];
  const names = [...labels, UNLABELLED];
  const about = answers
    .filter((answer) => isAbout(point, answer))
    .map((answer) => ({ answer, means: [...valuesIn(point.facts(answer, answer))] }))
    .toSorted((a, b) => b.means.length - a.means.length);
  for (const { answer, means } of about.slice(0, ANSWERS_MAX)) {
    const shares = [];
    for (const name of names) {
      const worths = Object.fromEntries(names.map((other) => [other, Number(other === name)]));
      const response = await compute(answer, answer.askedAt, { ...conventions, sentiment: UNROUNDED, labels: worths });
      shares.push(valuesIn(point.facts(response, answer)));
    }
    for (const [subject, reported] of means) {
      const own = shares.map((values) => values.get(subject));
      if (own.every((value) => typeof value === 'number'))
        rows.push({ times: toCounts(own), reported: Number(reported) });
    }
  }
  return rows;
}

function valuesIn(facts: Facts): ReadonlyMap<string, unknown> {
  return facts.kind === 'values' ? facts.values : new Map();
}

/** Largest number of mentions that is searched. */
const MENTIONS_MAX = 2_000;
const NEAR = 1e-9;

// Returns the smallest counts with these shares, so that sums are exact; the shares themselves if there are too many mentions.
function toCounts(shares: readonly number[]): number[] {
  for (let mentions = 1; mentions <= MENTIONS_MAX; mentions++) {
    const counts = shares.map((share) => share * mentions);
    if (counts.every((count) => Math.abs(count - Math.round(count)) <= NEAR * mentions)) return counts.map(Math.round);
  }
  return [...shares];
}
