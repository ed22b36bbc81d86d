/** Terms of Stirling's series for the logarithm of n!; below this n, the factors are multiplied. */
const STIRLING_LEAST = 20;
/** The sum of a tail ends at the first term below this part of the sum. */
const NEGLIGIBLE = 1e-18;

/** Mentions and responses of a period. */
export interface Counted {
  readonly mentions: number;
  readonly responses: number;
}

/**
 * Returns the two-sided mid-p value of Fisher's exact test, as in mart.prompt_changes; null if all responses of both periods mention
 * the entity, or none does.
 */
export function midP(before: Counted, after: Counted): number | null {
  const mentions = before.mentions + after.mentions;
  const [n1, n2] = [before.responses, after.responses];
  if (mentions === 0 || mentions === n1 + n2) return null;
  const k = after.mentions;
  // The hypergeometric distribution of the later mentions if the mentions fall on the two periods by chance.
  const own = Math.exp(logChoose(n2, k) + logChoose(n1, mentions - k) - logChoose(n1 + n2, mentions));
  const [least, most] = [Math.max(0, mentions - n1), Math.min(n2, mentions)];
  const downwards = (at: number): number => (at * (n1 - mentions + at)) / ((n2 - at + 1) * (mentions - at + 1));
  const upwards = (at: number): number => ((n2 - at) * (mentions - at)) / ((at + 1) * (n1 - mentions + at + 1));
  const below = tail(own, k, least, -1, downwards);
  const above = tail(own, k, most, 1, upwards);
  return Math.min(1, 2 * (own / 2 + Math.min(below, above)));
}

// Sums the probabilities beyond `from` up to `end`. `ratio` is that of the next term to the term at a place.
function tail(start: number, from: number, end: number, step: 1 | -1, ratio: (at: number) => number): number {
  let [term, sum] = [start, 0];
  for (let at = from; at !== end; at += step) {
    const factor = ratio(at);
    term *= factor;
    sum += term;
    if (factor < 1 && term < sum * NEGLIGIBLE) break;
  }
  return sum;
}

function logChoose(n: number, k: number): number {
  return logFactorial(n) - logFactorial(k) - logFactorial(n - k);
}

function logFactorial(n: number): number {
  if (n < STIRLING_LEAST) {
    let product = 1;
    for (let factor = 2; factor <= n; factor++) product *= factor;
    return Math.log(product);
  }
  const inverse = 1 / n;
  const series = inverse / 12 - inverse ** 3 / 360 + inverse ** 5 / 1260;
  return n * Math.log(n) - n + Math.log(2 * Math.PI * n) / 2 + series;
}
