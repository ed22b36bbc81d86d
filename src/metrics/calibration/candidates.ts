/** The result of calibrating one convention against upstream's numbers. */
export interface Finding<T> {
  readonly value: T;
  /** `default` if there is too little evidence or no definition fits; `note` has the reason. */
  readonly source: 'learned' | 'default';
  /** Number of compared rows, and number of rows that the best definition explains. */
  readonly compared: number;
  readonly agreed: number;
  readonly note: string;
  /** Whether there are enough rows and no candidate explains them. */
  readonly contradicted: boolean;
  /**
   * How sure the value is: the lower end of the 95 % Wilson score interval (Wilson 1927) of the share of rows that rule out other
   * candidates and that the value explains. Null unless the value is learned.
   */
  readonly confidence?: number | null;
  /** The candidates that explain most rows, each with the number of rows that it explains; the best first. */
  readonly candidates?: readonly { readonly value: T; readonly agreed: number }[];
  /** The candidates that explain as many rows as the value. */
  readonly alike?: readonly T[];
}

/** Maximum number of candidates in a finding. */
export const LISTED_MAX = 12;

/** Candidate definitions, and the rows to test them on. */
export interface Trial<T, Row> {
  readonly rows: readonly Row[];
  /** Definitions, most likely and coarsest first. */
  readonly candidates: readonly T[];
  /** The definition to keep unless the rows contradict it. It need not be a candidate. */
  readonly prior: T;
  agrees(candidate: T, row: Row): boolean;
  /** The part of a definition that must be unique among the best. Other parts may tie. */
  settles?(candidate: T): unknown;
  /** Whether there are more definitions than candidates, so that every row is evidence. */
  readonly open?: boolean;
  /** Minimum number of agreeing rows; `ROWS_LEAST` by default. */
  readonly least?: number;
  /** Describes a definition, for the note. */
  describe?(candidate: T): string;
}

/** Minimum number, and minimum share, of rows that must agree with a definition to accept it. */
export const ROWS_LEAST = 3;
export const AGREEING_LEAST = 0.95;
/** Relative and absolute tolerance within which two values are equal: far less than the last decimal place of a rounded value. */
const TOLERANCE = 1e-9;

/** Whether two values are equal apart from floating-point error, and from decimal places that upstream cuts off as noise. */
export function isSame(a: number | null, b: number | null): boolean {
  if (a === null || b === null) return a === b;
  return Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a), Math.abs(b));
}

/**
 * Finds the definition that explains most rows; ties go to the prior, then to the first. It is accepted
 * (`source: 'learned'`) if at least `least` rows agree, at least 95 % of all rows agree, and some of them distinguish
 * it from other candidates, and no other candidate explains as many. Otherwise the finding has the prior, or the first of the
 * candidates that are left if the prior is not one of them.
 */
export function findBest<T, Row>(trial: Trial<T, Row>): Finding<T> {
  const { rows, prior, agrees, least = ROWS_LEAST } = trial;
  const candidates = withPrior(trial.candidates, prior);
  const agreements = candidates.map((candidate) => Uint8Array.from(rows, (row) => Number(agrees(candidate, row))));
  const counts = agreements.map((agreed) => agreed.reduce((sum, agrees) => sum + agrees, 0));
  const most = Math.max(...counts);
  const best = candidates.filter((_, index) => counts[index] === most);
  const same = (candidate: T): boolean => isEqual(candidate, prior);
  const chosen = best.find(same) ?? (best[0] as T);
  const ofChosen = agreements[candidates.indexOf(chosen)] as Uint8Array;
  // Rows that every candidate explains are not evidence.
  const telling = rows.flatMap((_, index) =>
    trial.open === true || agreements.some((agreed) => agreed[index] === 0) ? [ofChosen[index] === 1] : [],
  );
  const tellingAgreed = telling.filter(Boolean).length;
  const settles = trial.settles ?? (() => null);
  const rivals = best.filter((candidate) => !isEqual(settles(candidate), settles(chosen)));
  const isSettled = rivals.length === 0;
  const fits = most >= AGREEING_LEAST * rows.length && tellingAgreed >= AGREEING_LEAST * telling.length;
  const isLearned = fits && isSettled && most >= least && tellingAgreed > 0;
  // Of several candidates without the default, the first is used although it is not determined.
  const isLeft = fits && !best.some(same) && most >= least && tellingAgreed > 0;
  const value = isLearned || isLeft ? chosen : prior;
  const contradicted = !fits && rows.length >= least;
  const describe = (candidate: T): string => trial.describe?.(candidate) ?? '';
  const note = isLearned
    ? `${describe(chosen)}${trial.open === true ? '' : ` (${tellingAgreed} of the rows rule out other definitions)`}`
    : noteOf({ rows: rows.length, most, fits, telling: tellingAgreed, best: describe(chosen), least });
  return {
    value,
    source: isLearned ? 'learned' : 'default',
    compared: rows.length,
    agreed: most,
    note: note.trim(),
    contradicted,
    confidence: isLearned ? wilsonLow(tellingAgreed, telling.length) : null,
    candidates: candidates
      .map((candidate, index) => ({ value: candidate, agreed: counts[index] ?? 0 }))
      .toSorted((a, b) => b.agreed - a.agreed)
      .slice(0, LISTED_MAX),
    alike: isLearned ? best : [],
  };
}

/** The 97.5 % quantile of the normal distribution. */
const Z = 1.959964;

/** The lower end of the 95 % Wilson score interval of a share. */
export function wilsonLow(agreed: number, of: number): number {
  const share = agreed / of;
  const centre = share + (Z * Z) / (2 * of);
  const spread = Z * Math.sqrt((share * (1 - share)) / of + (Z * Z) / (4 * of * of));
  return (centre - spread) / (1 + (Z * Z) / of);
}

interface Unlearned {
  readonly rows: number;
  readonly most: number;
  readonly fits: boolean;
  readonly telling: number;
  readonly best: string;
  readonly least: number;
}

function noteOf({ rows, most, fits, telling, best, least }: Unlearned): string {
  if (rows === 0) return 'too little evidence: no rows to compare';
  if (!fits && rows >= least) {
    return `no definition fits: the best, ${best}, explains ${most} of ${rows} rows`;
  }
  if (rows < least || most < least) return `too little evidence: ${rows} ${rows === 1 ? 'row' : 'rows'}`;
  if (telling === 0) return `too little evidence: all definitions explain the ${rows} rows`;
  return `too little evidence: several definitions explain the ${rows} rows`;
}

function withPrior<T>(candidates: readonly T[], prior: T): readonly T[] {
  return candidates.some((candidate) => isEqual(candidate, prior)) ? candidates : [...candidates, prior];
}

/** Returns at most `most` rows, evenly spaced. */
export function spread<T>(rows: readonly T[], most: number): readonly T[] {
  if (rows.length <= most) return rows;
  const step = rows.length / most;
  return Array.from({ length: most }, (_, index) => rows[Math.floor(index * step)] as T);
}

/** Whether two values are equal as JSON, ignoring the order of fields. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const areObjects = typeof a === 'object' && a !== null && typeof b === 'object' && b !== null;
  return areObjects && canonical(a) === canonical(b);
}

/** Returns a value as JSON with sorted fields. */
export function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  );
}
