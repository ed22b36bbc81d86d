/**
 * Chebyshev coefficients of the complementary error function: Press, W. H. et al. (2007), Numerical recipes, 3rd edition, section
 * 6.2.2. The relative error is at most 1.2e-7.
 */
export const ERFC = [
  -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
  0.17087277,
];

/** Returns the probability of a standard normal value at least as far from 0 as `z`. */
export function twoSidedP(z: number): number {
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + x / 2);
  const exponent = ERFC.reduceRight((sum, coefficient) => coefficient + t * sum, 0);
  return Math.min(1, t * Math.exp(-x * x + exponent));
}

/** Returns the z for which an interval of `z` standard errors on both sides has the given level, between 0.5 and 1 - 1e-12. */
export function quantileOf(level: number): number {
  let [low, high] = [0, 8];
  for (let step = 0; step < 60; step++) {
    const z = (low + high) / 2;
    if (twoSidedP(z) > 1 - level) low = z;
    else high = z;
  }
  return (low + high) / 2;
}
