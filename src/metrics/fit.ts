/** What upstream's numbers say about one convention. */
export interface Finding<T> {
  readonly value: T;
  /** `default` where the numbers do not tell, or contradict each other; the note says which. */
  readonly source: 'learned' | 'default';
  /** Rows held against upstream's, and how many of them are the same by the value. */
  readonly compared: number;
  readonly agreed: number;
  /** The largest difference by the value; null where values are no numbers, or nothing was compared. */
  readonly largestError: number | null;
  readonly note: string;
  /** Whether rows speak against every definition that was tried. */
  readonly contradicted: boolean;
}

/** Definitions that are held against rows. */
export interface Trial<T, Row> {
  readonly rows: readonly Row[];
  /** Definitions, the likeliest and coarsest first. */
  readonly candidates: readonly T[];
  /** The definition that holds unless rows speak against it; it need not be among the candidates. */
  readonly prior: T;
  agrees(candidate: T, row: Row): boolean;
  /** How far a row is from what a definition makes of it. */
  error?(candidate: T, row: Row): number;
  /** What a trial has to settle: definitions for which it is the same may be equally good. */
  settles?(candidate: T): unknown;
  /** Whether there are more definitions than could be listed, so that every row tells something. */
  readonly open?: boolean;
  /** Rows that have to agree at least. */
  readonly least?: number;
  /** A definition in words. */
  describe?(candidate: T): string;
}

/** Rows that have to agree before anything is learned from them, and the part of all rows that has to. */
export const ROWS_LEAST = 3;
export const AGREEING_LEAST = 0.95;
/** Values are equal within this, relatively. */
const TOLERANCE = 1e-9;

/** Whether two values are the same but for what computing in another order does. */
export function isSame(a: number | null, b: number | null): boolean {
  if (a === null || b === null) return a === b;
  return Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b)) + Number.EPSILON;
}

/**
 * Finds the definition that most rows agree with: among equally good ones the prior, else the first. It is learned when
 * enough rows agree, nearly all do, and some of them tell it from others.
 */
export function findBest<T, Row>(trial: Trial<T, Row>): Finding<T> {
  const { rows, prior, agrees, error, least = ROWS_LEAST } = trial;
  const candidates = withPrior(trial.candidates, prior);
  const agreements = candidates.map((candidate) => Uint8Array.from(rows, (row) => Number(agrees(candidate, row))));
  const counts = agreements.map((agreed) => agreed.reduce((sum, agrees) => sum + agrees, 0));
  const most = Math.max(...counts);
  const best = candidates.filter((_, index) => counts[index] === most);
  const same = (candidate: T): boolean => isEqual(candidate, prior);
  const chosen = best.find(same) ?? (best[0] as T);
  const ofChosen = agreements[candidates.indexOf(chosen)] as Uint8Array;
  // Rows on which all definitions agree tell nothing, however many they are.
  const telling = rows.flatMap((_, index) =>
    trial.open === true || agreements.some((agreed) => agreed[index] === 0) ? [ofChosen[index] === 1] : [],
  );
  const tellingAgreed = telling.filter(Boolean).length;
  const settles = trial.settles ?? (() => null);
  const rivals = best.filter((candidate) => !isEqual(settles(candidate), settles(chosen)));
  const isSettled = rivals.length === 0 || !best.some(same);
  const fits = most >= AGREEING_LEAST * rows.length && tellingAgreed >= AGREEING_LEAST * telling.length;
  const isLearned = fits && isSettled && most >= least && tellingAgreed > 0;
  const value = isLearned ? chosen : prior;
  const differences = error === undefined ? [] : rows.map((row) => error(chosen, row));
  const largestError = differences.length === 0 ? null : differences.reduce((a, b) => Math.max(a, b));
  const contradicted = !fits && rows.length >= least;
  const describe = (candidate: T): string => trial.describe?.(candidate) ?? '';
  const note = isLearned
    ? `${describe(chosen)}${trial.open === true ? '' : ` (${tellingAgreed} of the rows tell it from others)`}`
    : noteOf({ rows: rows.length, most, fits, telling: tellingAgreed, best: describe(chosen), least, largestError });
  return {
    value,
    source: isLearned ? 'learned' : 'default',
    compared: rows.length,
    agreed: most,
    largestError,
    note: note.trim(),
    contradicted,
  };
}

interface Unlearned {
  readonly rows: number;
  readonly most: number;
  readonly fits: boolean;
  readonly telling: number;
  readonly best: string;
  readonly least: number;
  readonly largestError: number | null;
}

function noteOf({ rows, most, fits, telling, best, least, largestError }: Unlearned): string {
  if (rows === 0) return 'too little evidence: no row to compare';
  if (!fits && rows >= least) {
    const error = largestError === null ? '' : `, largest error ${Number(largestError.toPrecision(6))}`;
    return `no definition fits: the best, ${best}, agrees with ${most} of ${rows} rows${error}`;
  }
  if (rows < least || most < least) return `too little evidence: ${rows} ${rows === 1 ? 'row' : 'rows'}`;
  if (telling === 0) return `too little evidence: ${rows} rows, on which all definitions agree`;
  return `too little evidence: ${rows} rows, which several definitions explain`;
}

function withPrior<T>(candidates: readonly T[], prior: T): readonly T[] {
  return candidates.some((candidate) => isEqual(candidate, prior)) ? candidates : [...candidates, prior];
}

/** At most so many of the rows, from all over them. */
export function spread<T>(rows: readonly T[], most: number): readonly T[] {
  if (rows.length <= most) return rows;
  const step = rows.length / most;
  return Array.from({ length: most }, (_, index) => rows[Math.floor(index * step)] as T);
}

/** Whether two values are the same as JSON, whatever the order of their fields. */
export function isEqual(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  );
}
