import { type MentionCounts, round, share, visibilityChange } from '../numbers/definitions.ts';
import { type Finding, findBest, isSame, type Trial } from './candidates.ts';
import { type Conventions, defaultConventions, type Rounding, roundingModes, type ShareForm } from './conventions.ts';

/** A share that upstream reported, and the stored counts for it. */
export interface ShareRow {
  readonly part: number;
  readonly whole: number;
  readonly reported: number;
}

/** A mean that upstream reported, and the stored sum and count for it. */
export interface MeanRow {
  readonly sum: number;
  readonly count: number;
  readonly reported: number;
}

/** A change of visibility that upstream reported, and the stored counts of its range and the preceding one. */
export interface ChangeRow {
  readonly now: MentionCounts;
  readonly before: MentionCounts;
  readonly reported: number | null;
}

/** A domain's share that upstream reported, and the candidates for its part and whole. */
export interface DomainRow extends Readonly<Record<Conventions['domainShare']['of'], Omit<ShareRow, 'reported'>>> {
  readonly reported: number;
}

/** Candidate roundings, coarsest first. */
export const roundings: readonly Rounding[] = [
  ...[0, 1, 2, 3, 4, 5, 6].flatMap((decimals) => roundingModes.map((mode) => ({ decimals, mode }))),
  { decimals: null, mode: 'half-away' },
];

/** Candidate share forms, coarsest first. */
export const shareForms: readonly ShareForm[] = roundings.flatMap((rounding) => [
  { ...rounding, whole: 100 },
  { ...rounding, whole: 1 },
]);

/** Finds how shares are written. */
export function fitShare(rows: readonly ShareRow[], prior: ShareForm): Finding<ShareForm> {
  return findBest({
    ...comparing((form: ShareForm, { part, whole }: ShareRow) => share(defaultConventions, form, part, whole)),
    rows,
    candidates: shareForms,
    prior,
    settles: ({ whole }) => whole,
    describe: describeShare,
  });
}

/** Finds how a domain's share is written, and whether it is a share of citations or of responses. */
export function fitDomainShare(
  rows: readonly DomainRow[],
  prior: Conventions['domainShare'],
): Finding<Conventions['domainShare']> {
  const compute = (form: Conventions['domainShare'], row: DomainRow): number | null =>
    share(defaultConventions, form, row[form.of].part, row[form.of].whole);
  return findBest({
    ...comparing(compute),
    rows,
    candidates: (['citations', 'responses', 'citing'] as const).flatMap((of) =>
      shareForms.map((form) => ({ ...form, of })),
    ),
    prior,
    settles: ({ whole, of }) => [whole, of],
    describe: (form) => `${describeShare(form)}, of ${form.of}`,
  });
}

/** Finds how a change from a nonempty range is computed and written. `conventions` gives the form of visibility. */
export function fitChange(
  rows: readonly ChangeRow[],
  prior: Conventions['visibilityChange'],
  conventions: Conventions,
): Finding<Conventions['visibilityChange']> {
  const candidates = (['difference', 'relative'] as const).flatMap((as) =>
    (['exact', 'rounded'] as const).flatMap((of) => shareForms.map((form) => ({ ...form, as, of }))),
  );
  const known = new Map<Conventions['visibilityChange'], Conventions>();
  const compute = (form: Conventions['visibilityChange'], { now, before }: ChangeRow): number | null => {
    const tried = known.get(form) ?? { ...conventions, visibilityChange: form };
    known.set(form, tried);
    return visibilityChange(tried, now, before);
  };
  return findBest({
    ...comparing(compute),
    rows,
    candidates,
    prior,
    settles: ({ whole, as }) => [whole, as],
    describe: (form) =>
      `${describeShare(form)}, ${form.as === 'relative' ? 'relative difference' : 'difference'} of ${form.of} shares`,
  });
}

/** Finds how a mean is rounded. */
export function fitMean(rows: readonly MeanRow[], prior: Rounding): Finding<Rounding> {
  return findBest({
    ...comparing((rounding: Rounding, { sum, count }: MeanRow) => round(rounding, sum / count)),
    rows,
    candidates: roundings,
    prior,
    describe: describeRounding,
  });
}

/** A mean position that upstream reported, and the stored sum and counts for it. */
export interface PositionRow extends MeanRow {
  /** Mentions, also those without a position. */
  readonly mentions: number;
}

/** Finds how a mean position is rounded, and whether mentions without a position count in it. */
export function fitPositions(
  rows: readonly PositionRow[],
  prior: Rounding,
): { readonly avgPosition: Finding<Rounding>; readonly positionOver: Finding<Conventions['positionOver']> } {
  const countOf = (over: Conventions['positionOver'], { count, mentions }: PositionRow): number =>
    over === 'placed' ? count : mentions;
  const fitOver = (over: Conventions['positionOver']): Finding<Rounding> =>
    fitMean(
      rows.map((row) => ({ ...row, count: countOf(over, row) })),
      prior,
    );
  const placed = fitOver('placed');
  const other = placed.contradicted ? fitOver('mentions') : placed;
  const avgPosition = other.source === 'learned' ? other : placed;
  const positionOver = findBest<Conventions['positionOver'], PositionRow>({
    rows: rows.filter(({ count, mentions }) => count !== mentions),
    candidates: ['placed', 'mentions'],
    prior: 'placed',
    agrees: (over, row) => isSame(round(avgPosition.value, row.sum / countOf(over, row)), row.reported),
    describe: String,
  });
  return { avgPosition, positionOver };
}

/** Finds the placeholder for numbers that cannot be computed: 0 or null. */
export function fitEmpty(reported: readonly (number | null)[], prior: 0 | null): Finding<0 | null> {
  return findBest<0 | null, number | null>({
    rows: reported,
    candidates: [0, null],
    prior,
    // Only the convention can produce the null or zero, so one row is enough.
    least: 1,
    agrees: (candidate, row) => candidate === row,
    describe: String,
  });
}

/** Finds the placeholder of a number that may have that of another number, which `like` stands for. */
export function fitLike<Like extends string>(
  reported: readonly (number | null)[],
  other: Finding<0 | null>,
  like: Like,
): Finding<0 | null | Like> {
  return findBest<0 | null | Like, number | null>({
    rows: reported,
    candidates: [like, 0, null],
    prior: like,
    least: 1,
    // It is not known to be like the other number if that is not known.
    agrees: (candidate, row) =>
      candidate === like ? other.source === 'learned' && other.value === row : candidate === row,
    describe: (candidate) => (candidate === like ? `${other.value}, like the ${like}` : String(candidate)),
  });
}

/** Finds the value of a change from an empty range. `conventions` gives the form of all other changes. */
export function fitEmptyChange(
  rows: readonly ChangeRow[],
  conventions: Conventions,
): Finding<Conventions['emptyChange']> {
  return findBest<Conventions['emptyChange'], ChangeRow>({
    rows,
    candidates: [null, 0, 'visibility'],
    prior: conventions.emptyChange,
    least: 1,
    agrees: (emptyChange, { now, before, reported }) =>
      isSame(visibilityChange({ ...conventions, emptyChange }, now, before), reported),
    describe: String,
  });
}

/** Describes a rounding, for notes: `1 decimal, half-away`. */
export function describeRounding({ decimals, mode }: Rounding): string {
  if (decimals === null) return 'not rounded';
  return `${decimals} ${decimals === 1 ? 'decimal' : 'decimals'}, ${mode}`;
}

function describeShare(form: ShareForm): string {
  return `${form.whole === 100 ? 'percent' : 'fraction'}, ${describeRounding(form)}`;
}

function comparing<T, Row extends { readonly reported: number | null }>(
  compute: (candidate: T, row: Row) => number | null,
): Pick<Trial<T, Row>, 'agrees'> & Required<Pick<Trial<T, Row>, 'error'>> {
  return {
    agrees: (candidate, row) => isSame(compute(candidate, row), row.reported),
    error: (candidate, row) => Math.abs((compute(candidate, row) ?? 0) - (row.reported ?? 0)),
  };
}
