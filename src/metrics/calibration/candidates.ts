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
  readonly confidence: number | null;
  /** At most `LISTED_MAX` candidates, each with the number of rows that it explains; the best first. */
  readonly candidates: readonly { readonly value: T; readonly agreed: number }[];
  /** All candidates that explain as many rows as the best; none if no candidate explains enough of them. Not stored. */
  readonly left: readonly unknown[];
}

/** Maximum number of candidates in a finding. */
export const LISTED_MAX = 12;

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

/** The 97.5 % quantile of the normal distribution. */
const Z = 1.959964;

/** The lower end of the 95 % Wilson score interval of a share. */
export function wilsonLow(agreed: number, of: number): number {
  const share = agreed / of;
  const centre = share + (Z * Z) / (2 * of);
  const spread = Z * Math.sqrt((share * (1 - share)) / of + (Z * Z) / (4 * of * of));
  return (centre - spread) / (1 + (Z * Z) / of);
}

/** Returns at most `most` rows, evenly spaced. */
export function spread<T>(rows: readonly T[], most: number): readonly T[] {
  if (rows.length <= most) return rows;
  const step = rows.length / most;
  return Array.from({ length: most }, (_, index) => rows[Math.floor(index * step)] as T);
}
