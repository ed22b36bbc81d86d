import { formulas, Z2 } from '../marts/formulas.ts';

/** Largest number of sample units of both periods for which the exact test is computed. */
const EXACT_UNITS_MAX = 1_000;
/** Minimum number of sample units for the interval of a ratio. */
const RATIO_UNITS_MIN = 30;

/**
 * Returns the CTE `estimates`: the value of each measure and its interval, for rows of `sums` with the columns `kind`, `n`, `part`,
 * `whole`, `yy`, `xy`, `xx`, `is_fraction` (whether a ratio is from 0 to 1) and `empty` (the value without rows). The formulas are the same as in mart.brand_changes.
 */
export function estimates(): string {
  return `estimates AS (
  -- Wilson's bounds for shares and for ratios without variance, and Cochran's for other ratios, with at least ${RATIO_UNITS_MIN} sample units.
  SELECT *,
    CASE WHEN is_score THEN ${formulas.wilson_lower('value', 'w')} WHEN kind = 'ratio' THEN value - reach END AS lower,
    CASE WHEN is_score THEN ${formulas.wilson_upper('value', 'w')} WHEN kind = 'ratio' THEN value + reach END AS upper
  FROM (
    SELECT *,
      CASE WHEN kind = 'ratio' AND n >= ${RATIO_UNITS_MIN} THEN sqrt(${Z2} * n / (n - 1) * greatest(0, squares)) / whole END AS reach,
      kind = 'share' OR (is_fraction AND n >= ${RATIO_UNITS_MIN} AND ${formulas.is_flat('squares', 'xx')}) AS is_score
    FROM (
      SELECT *, yy - 2 * value * xy + value * value * xx AS squares
      FROM (
        SELECT *, CASE WHEN kind = 'count' THEN part ELSE part / nullif(whole, 0) END AS value, ${formulas.wilson_weight('n')} AS w
        FROM sums
      )
    )
  )
)`;
}

/**
 * Returns the CTEs from `estimates` to `tested`: the change of each measure between the periods, its interval, its p value, the p
 * value corrected for the rows of the result, and whether the change is significant. `keys` are the group columns. The formulas
 * are those of mart.brand_changes and mart.prompt_changes. `hasShares` is whether `sums` has rows of the kind share.
 */
export function changes(keys: readonly string[], hasShares: boolean): string {
  const key = keys.map((name) => `${name}, `).join('');
  // A brand has the same p value with and without its competitors.
  const family = ['measure', ...(keys.includes('competitor_id') ? ['competitor_id IS NULL'] : [])];
  const side = (prefix: string, filter: string): string =>
    ['n', 'part', 'whole', 'value', 'lower', 'upper', 'reach']
      // A group without rows in a period has the value `empty`.
      .map((name) => {
        const found = `any_value(${name}) FILTER (${filter})`;
        const filled = `if(count(*) FILTER (${filter}) = 0, any_value(empty), ${found})`;
        return `${name === 'value' ? filled : found} AS ${prefix}${name}`;
      })
      .join(', ');
  return `sides AS (
  SELECT ${key}measure, kind,
    ${side('', 'NOT is_before')},
    ${side('before_', 'is_before')}
  FROM estimates GROUP BY ${key}measure, kind
), compared AS (
  SELECT *,
    value - before_value AS change,
    ${formulas.newcombe_lower('value', 'lower', 'before_value', 'before_upper')} AS change_lower,
    ${formulas.newcombe_upper('value', 'upper', 'before_value', 'before_lower')} AS change_upper
  FROM sides
), scored AS (
  -- No test if all sample units have the property, or none.
  SELECT * EXCLUDE (pooled${hasShares ? ', weights, place' : ''}), ${hasShares ? EXACT_P : 'CAST(NULL AS DOUBLE)'} AS exact_p,
    CASE kind
      WHEN 'share' THEN abs(change) / nullif(sqrt(greatest(0, pooled * (1 - pooled)) * (1 / n + 1 / before_n)), 0)
      WHEN 'ratio' THEN sqrt(${Z2}) * abs(change) / nullif(sqrt(reach ** 2 + before_reach ** 2), 0)
    END AS z
  FROM (
    SELECT *, (part + before_part) / (n + before_n) AS pooled${hasShares ? `,\n      ${WEIGHTS}` : ''}
    FROM compared
  )
), ranked AS (
  -- Benjamini and Hochberg's correction for the rows of the result; those of brands and those of competitors are two families.
  SELECT *, ${formulas.corrected_scale('p', ...family)} AS scaled
  FROM (
    -- The two normal tails beyond z: erfcc of Press et al., Numerical Recipes, with a relative error below 1.2e-7.
    SELECT * EXCLUDE (u, exact_p, z), CASE
      WHEN kind = 'share' AND n + before_n <= ${EXACT_UNITS_MAX} THEN exact_p
      ELSE u * exp(-z * z / 2 - 1.26551223 + u * (1.00002368 + u * (0.37409196 + u * (0.09678418 + u * (-0.18628806
        + u * (0.27886807 + u * (-1.13520398 + u * (1.48851587 + u * (-0.82215223 + u * 0.17087277)))))))))
      END AS p
    FROM (SELECT *, 1 / (1 + z / sqrt(8)) AS u FROM scored)
  )
), adjusted AS (
  SELECT *, ${formulas.corrected_p('p', 'scaled', ...family)} AS p_adjusted FROM ranked
), tested AS (
  SELECT *, CASE WHEN p_adjusted IS NOT NULL THEN p_adjusted <= 0.05 AND (change_lower > 0 OR change_upper < 0) END AS significant
  FROM adjusted
)`;
}

// The hypergeometric distribution of the recent part if the parts fall on the two periods by chance, and the place of the part in it.
const WEIGHTS = `CASE WHEN kind = 'share' AND n + before_n <= ${EXACT_UNITS_MAX} AND pooled > 0 AND pooled < 1 THEN
        [${formulas.hypergeometric('i', '(before_part + part)', 'before_n', 'n')}
          FOR i IN range(CAST(greatest(0, before_part + part - before_n) AS BIGINT), CAST(least(n, before_part + part) AS BIGINT) + 1)] END AS weights,
      CAST(part - greatest(0, before_part + part - before_n) AS BIGINT) + 1 AS place`;

// Twice the smaller tail, with half of the weight of the part itself in each tail.
const EXACT_P = `CASE WHEN weights IS NOT NULL THEN
      least(1, 2 * least(coalesce(list_sum(weights[:place - 1]), 0), coalesce(list_sum(weights[place + 1:]), 0)) + weights[place]) END`;
