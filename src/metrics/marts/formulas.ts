import { ERFC } from '../explain/normal.ts';
import { responseSums } from '../model/response-sums.ts';

/** Square of the normal quantile for intervals of level 0.95. */
export const Z2 = '3.841458820694124';

const correctedKeys = (keys: readonly string[]): string =>
  keys.length === 0 ? '' : `PARTITION BY ${keys.join(', ')} `;

/**
 * Expressions that several SQL files and statements need, by the name under which SQL files call them. DuckDB's own macros would have to
 * be in every replica and could not be used by other readers of the views.
 */
export const formulas = {
  ...responseSums,
  /** Weight of Wilson's interval of level 0.95 for `n` sample units; null for none. */
  wilson_weight: (n: string) => `${Z2} / nullif(${n}, 0)`,
  /** Lower bound of Wilson's score interval of a share. `w` is its weight: the square of the normal quantile / sample units. */
  wilson_lower: (share: string, w: string) =>
    `(${share} + ${w} / 2 - sqrt(${w} * (${share} * (1 - ${share}) + ${w} / 4))) / (1 + ${w})`,
  /** Upper bound of the same interval. */
  wilson_upper: (share: string, w: string) =>
    `(${share} + ${w} / 2 + sqrt(${w} * (${share} * (1 - ${share}) + ${w} / 4))) / (1 + ${w})`,
  /**
   * Whether all sample units of a ratio estimate have the same ratio, such as 0 of n. Its standard error is 0, which is no interval;
   * a ratio from 0 to 1 then has Wilson's interval with the number of sample units as the effective sample size (Korn, E. L. and
   * Graubard, B. I. (1998), Survey Methodology 24:193-201). `squares` is the sum of the squared residuals, `sizes` that of the squared
   * sizes.
   */
  is_flat: (squares: string, sizes: string) => `${squares} <= 1e-12 * ${sizes}`,
  /** Lower bound of `value - before` from the bounds of both (Newcombe's method 10; Zou and Donner). */
  newcombe_lower: (value: string, lower: string, before: string, beforeUpper: string) =>
    `${value} - ${before} - sqrt((${value} - ${lower}) ** 2 + (${beforeUpper} - ${before}) ** 2)`,
  /** Upper bound of `value - before` from the bounds of both. */
  newcombe_upper: (value: string, upper: string, before: string, beforeLower: string) =>
    `${value} - ${before} + sqrt((${upper} - ${value}) ** 2 + (${before} - ${beforeLower}) ** 2)`,
  /** Probability that `k` of `m` events are among the `n2` of `n1 + n2` sample units (hypergeometric distribution). */
  hypergeometric: (k: string, m: string, n1: string, n2: string) =>
    `exp(lgamma(${n2} + 1) - lgamma(${k} + 1) - lgamma(${n2} - ${k} + 1) + lgamma(${n1} + 1) - lgamma(${m} - ${k} + 1)
      - lgamma(${n1} - ${m} + ${k} + 1) + lgamma(${m} + 1) + lgamma(${n1} + ${n2} - ${m} + 1) - lgamma(${n1} + ${n2} + 1))`,
  /** Probability of a standard normal value at least as far from 0 as `z`, as `twoSidedP`. */
  two_sided_p: (z: string) => {
    const x = `(abs(${z}) / sqrt(2))`;
    const t = `(1 / (1 + ${x} / 2))`;
    const series = ERFC.reduceRight((rest, coefficient) => `(${coefficient} + ${t} * ${rest})`, '0');
    return `(${t} * exp(-${x} * ${x} + ${series}))`;
  },
  /** First step of Benjamini and Hochberg's correction of `p`, in groups by the keys; null if p is null. */
  corrected_scale: (p: string, ...keys: string[]) =>
    `CASE WHEN ${p} IS NOT NULL THEN ${p} / cume_dist() OVER (${correctedKeys([...keys, `${p} IS NULL`])}ORDER BY ${p}) END`,
  /** Second step: the corrected p. `scale` is the result of the first step, and a column. */
  corrected_p: (p: string, scale: string, ...keys: string[]) =>
    `CASE WHEN ${p} IS NOT NULL THEN least(1, min(${scale}) OVER (${correctedKeys(keys)}ORDER BY ${p} DESC NULLS FIRST)) END`,
  /** Host of an address in lower case, without www; empty if there is none. */
  host_of: (address: string) =>
    `regexp_extract(lower(trim(${address})), '^(?:[a-z][a-z0-9+.-]*:)?(?://)?(?:[^/?#@]*@)?(?:www\\.)?([^/?#:@\\s]+\\.[^/?#:@\\s.]+)', 1)`,
  /** Host of a cited domain, in the form of `host_of`. */
  host_of_domain: (domain: string) => `regexp_replace(lower(trim(${domain})), '^www\\.', '')`,
  /** Whether a host is the host of a website or a subdomain of it. */
  is_at_host: (host: string, site: string) => `(${host} = ${site} OR ends_with(${host}, '.' || ${site}))`,
  /** State of a row of main.prompts, which is a row of nulls if upstream never listed the prompt. */
  prompt_state: (prompt: string) =>
    `CASE WHEN ${prompt}.id IS NULL THEN 'unknown' WHEN ${prompt}._deleted_at IS NOT NULL THEN 'deleted'
    WHEN ${prompt}.active IS FALSE THEN 'paused' ELSE 'active' END`,
  /** Name of a column if its value differs from the row before in a named window; otherwise null. */
  name_if_changed: (column: string, window: string) =>
    `if(${column} IS DISTINCT FROM lag(${column}) OVER ${window}, '${column}', NULL)`,
  /** Whether a time is in a range of days (UTC). Casts no column, so that DuckDB skips row groups outside the range. */
  in_days: (time: string, from: string, to: string) =>
    `(${time} >= CAST(${from} AS TIMESTAMPTZ) AND ${time} < CAST(${to} + 1 AS TIMESTAMPTZ))`,
} satisfies Record<string, (...args: string[]) => string>;

/** Returns the same as `formulas.host_of_domain`. */
export function hostOfDomain(domain: string): string {
  return domain
    .trim()
    .toLowerCase()
    .replace(/^www\./, '');
}

/** A call of a formula. Its arguments contain no parentheses. */
const CALL = new RegExp(`\\b(${Object.keys(formulas).join('|')})\\(([^()]*)\\)`, 'g');
const OPERAND = /^\$?[a-z_][a-z0-9_.]*$/;

/**
 * Replaces calls of `formulas` in the SQL of a file.
 * @throws TypeError with the name of the file if a call lacks an argument
 */
export function withFormulas(file: string, sql: string): string {
  return sql.replace(CALL, (call: string, name: keyof typeof formulas, list: string) => {
    const formula: (...args: string[]) => string = formulas[name];
    const args = list.split(',').map((text) => text.trim());
    if (args.length < formula.length) throw new TypeError(`${file}: arguments are missing: ${call}`);
    return formula(...args.map((text) => (OPERAND.test(text) ? text : `(${text})`)));
  });
}
