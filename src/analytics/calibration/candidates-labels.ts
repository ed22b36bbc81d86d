import { round } from '../numbers/definitions.ts';
import { fitMean } from './candidates-numbers.ts';
import { AGREEING_LEAST, type Finding, isSame, ROWS_LEAST } from './candidates.ts';
import type { Rounding } from './conventions.ts';
import {
  decimalsOf,
  type LabelRow,
  type LabelWeights,
  meansOf,
  ROUNDING_MODES,
  score,
  searchLabelWeights,
} from './label-weights.ts';

/** The worths of labels, and the rounding of their mean. */
export interface LabelFindings {
  readonly labels: Finding<Readonly<Record<string, number>>>;
  readonly sentiment: Finding<Rounding>;
}

/** If no candidate explains every row, candidates within this factor of the best count as equally good. */
const NEARLY = 0.995;

/** The label of mentions without a label. */
const UNLABELLED = '';

/**
 * Finds the worth of each label. The last count of each row is that of mentions without a label; they get a worth only if
 * the means cannot be explained without.
 */
export function fitMentions(
  labels: readonly string[],
  rows: readonly LabelRow[],
  prior: { readonly labels: Readonly<Record<string, number>>; readonly sentiment: Rounding },
): LabelFindings {
  const labelled = rows.flatMap(({ times, reported }) => {
    const named = times.slice(0, -1);
    return named.some((count) => count > 0) ? [{ times: named, reported }] : [];
  });
  const plain = fitLabels(labels, labelled, prior);
  if (!plain.labels.contradicted || labelled.length === rows.length) return plain;
  const all = fitLabels([...labels, UNLABELLED], rows, prior);
  return all.labels.source === 'learned' ? all : plain;
}

/** Finds the worth of each label: by least squares, then on the coarsest grid that explains the rows. */
export function fitLabels(
  labels: readonly string[],
  rows: readonly LabelRow[],
  prior: { readonly labels: Readonly<Record<string, number>>; readonly sentiment: Rounding },
): LabelFindings {
  const occurring = labels.flatMap((_, index) => (rows.some(({ times }) => (times[index] ?? 0) > 0) ? [index] : []));
  const priorWeights: LabelWeights = labels.map((label) => weightIn(prior.labels, label));
  const decimals = decimalsOf(rows);
  const tried = [priorWeights, ...searchLabelWeights(occurring, rows, labels.length)].map((weights) => {
    return {
      weights,
      agreed: Math.max(...ROUNDING_MODES.map((mode) => score(weights, rows, { decimals, mode }).agreed)),
    };
  });
  const most = Math.max(...tried.map(({ agreed }) => agreed));
  const enough = most === rows.length ? most : NEARLY * most;
  const chosen = (tried.find(({ agreed }) => agreed >= enough) as (typeof tried)[number]).weights;
  const sentiment = fitMean(meansOf(chosen, rows), prior.sentiment);
  // Means of excluded labels only are those without mentions, which may be 0.
  const isCounted = ({ times }: LabelRow): boolean => chosen.some((weight, at) => weight !== null && times[at] !== 0);
  const zeros = rows.filter((row) => !isCounted(row) && row.reported === 0).length;
  const { largestError } = sentiment;
  const agreed = sentiment.agreed + zeros;
  const undetermined = occurring
    .filter((index) => !isDetermined(index, chosen, rows, sentiment.value))
    .map((index) => labels[index]);
  const fits = agreed >= AGREEING_LEAST * rows.length;
  // N free worths can explain any N rows, so require more rows than that.
  const free = chosen === priorWeights ? 0 : occurring.length;
  const isLearned = fits && agreed >= ROWS_LEAST + free && undetermined.length < occurring.length;
  const value = named(labels, chosen, prior.labels);
  const inWords = Object.entries(value).map(([label, weight]) => `${label} ${weight}`);
  const open = undetermined.length === 0 ? '' : `; undetermined: ${undetermined.join(', ')}`;
  const finding: LabelFindings['labels'] = {
    value: isLearned ? value : prior.labels,
    source: isLearned ? 'learned' : 'default',
    compared: rows.length,
    agreed,
    largestError,
    note: isLearned ? `${inWords.join(', ')}${open}` : noteOf(rows.length, fits, sentiment),
    contradicted: !fits && rows.length >= ROWS_LEAST,
  };
  if (isLearned || chosen === priorWeights) return { labels: finding, sentiment };
  const note = `too little evidence: the worths of the labels are unknown (${finding.note})`;
  return { labels: finding, sentiment: { ...sentiment, value: prior.sentiment, source: 'default', note } };
}

function noteOf(rows: number, fits: boolean, { agreed, largestError }: Finding<Rounding>): string {
  if (rows === 0) return 'too little evidence: no rows to compare';
  if (fits || rows < ROWS_LEAST) return `too little evidence: ${rows} ${rows === 1 ? 'row' : 'rows'}`;
  const error = largestError === null ? '' : `, largest error ${Number(largestError.toPrecision(6))}`;
  return `no worths explain the means: the best fit ${agreed} of ${rows} rows${error}`;
}

// A worth is determined if changing it in some direction explains fewer rows.
function isDetermined(index: number, weights: LabelWeights, rows: readonly LabelRow[], rounding: Rounding): boolean {
  const known = weights.filter((weight) => weight !== null);
  const distance = (Math.max(...known) - Math.min(...known)) / 10 || 1;
  const agreedBy = (tried: LabelWeights): number =>
    meansOf(tried, rows).filter(({ sum, count, reported }) => isSame(round(rounding, sum / count), reported)).length;
  const agreed = agreedBy(weights);
  return [distance, -distance].some((step) => {
    const moved = weights.map((weight, at) => (at === index && weight !== null ? weight + step : weight));
    return agreedBy(moved) < agreed;
  });
}

// If every found worth equals the prior one, labels that never occurred keep their prior worth too.
function named(labels: readonly string[], weights: LabelWeights, prior: Readonly<Record<string, number>>) {
  const found = Object.fromEntries(
    labels.flatMap((label, index) =>
      weights[index] === null || weights[index] === undefined ? [] : [[label, weights[index]]],
    ),
  ) as Record<string, number>;
  const isAsBefore = Object.entries(found).every(([label, weight]) => weightIn(prior, label) === weight);
  return isAsBefore ? { ...prior, ...found } : found;
}

function weightIn(labels: Readonly<Record<string, number>>, label: string): number | null {
  return Object.hasOwn(labels, label) ? (labels[label] ?? null) : null;
}
