/** The normal quantile of a 95 % interval. */
const Z = 1.959963984540054;

/** A share as its numerator and denominator. */
export interface Share {
  readonly part: number;
  readonly whole: number;
}

/** Converts two numbers of a query; null counts as 0. */
export function share(part: unknown, whole: unknown): Share {
  return { part: Number(part ?? 0), whole: Number(whole ?? 0) };
}

/** Divides a share; null if its whole is 0. */
export function ratio({ part, whole }: Share): number | null {
  return whole === 0 ? null : part / whole;
}

/**
 * Returns the 95 % Wilson score interval of a share, as fractions; 0 to 1 if `whole` is 0. E. B. Wilson, "Probable
 * inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212.
 */
export function wilson({ part, whole }: Share): { lower: number; upper: number } {
  if (whole === 0) return { lower: 0, upper: 1 };
  const rate = part / whole;
  const middle = rate + (Z * Z) / (2 * whole);
  const reach = Z * Math.sqrt((rate * (1 - rate)) / whole + (Z * Z) / (4 * whole * whole));
  const scale = 1 + (Z * Z) / whole;
  return { lower: Math.max(0, (middle - reach) / scale), upper: Math.min(1, (middle + reach) / scale) };
}
