-- Change of each prompt's visibility between two periods, with an interval and a test: one row per current prompt with
-- responses in both periods (a constant panel), per engine and over all engines. The periods are those of mart.periods.
-- Filter by scope before summing. mart.prompt_movers has the significant rows.
-- formula: change = recent_mentions / recent_responses - before_mentions / before_responses. Its bounds are Newcombe's
--   hybrid score interval. p_value is the two-sided mid-p value of Fisher's exact test; over several engines, the larger of
--   it and that of the test of Mantel and Haenszel, which compares each engine with itself, or 1 if the two changes have
--   different signs: a shift between engines changes the visibility of a prompt even if no engine responds differently.
--   adjusted_p is corrected for the number of prompts of the brand in the scope with a p_value (tested), by Benjamini and
--   Hochberg. If adjusted_p is at most 0.05 for r of them, their intervals have the level 1 - 0.05 * r / tested (Benjamini
--   and Yekutieli); the others have 0.95.
-- source: Newcombe, R. G. (1998), Interval estimation for the difference between independent proportions, method 10,
--   Statistics in Medicine 17:873-890. Lancaster, H. O. (1961), Significance tests in discrete distributions, JASA
--   56:223-234. Benjamini, Y. and Hochberg, Y. (1995), JRSS B 57:289-300. Benjamini, Y. and Yekutieli, D. (2005), False
--   discovery rate-adjusted multiple confidence intervals, JASA 100:71-81. Mantel, N. and Haenszel, W. (1959), Statistical
--   aspects of the analysis of data from retrospective studies of disease, JNCI 22:719-748. Wichura, M. J. (1988), AS 241: the percentage
--   points of the normal distribution, Applied Statistics 37:477-484.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column text VARCHAR: The text sent to the engines.
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column before_responses BIGINT: Responses in the period before.
-- column before_mentions BIGINT: Responses that mention the brand.
-- column before_visibility DOUBLE: before_mentions / before_responses, from 0 to 1.
-- column recent_responses BIGINT: Responses in the recent period.
-- column recent_mentions BIGINT: Responses that mention the brand.
-- column recent_visibility DOUBLE: recent_mentions / recent_responses, from 0 to 1.
-- column change DOUBLE: recent_visibility - before_visibility, from -1 to 1.
-- column change_lower DOUBLE: Lower bound of the change, at interval_level.
-- column change_upper DOUBLE: Upper bound of the change, at interval_level.
-- column interval_level DOUBLE: Confidence level of the interval.
-- column p_value DOUBLE: Probability of a difference this large without a change of any engine; null if all responses of both periods
--   mention the brand, or none does.
-- column adjusted_p DOUBLE: p_value corrected for the number of tests; null without one.
-- column tested BIGINT: Prompts of the brand in the scope (prompts and engines, if scope is engine) with a p_value.
-- column is_significant BOOLEAN: Whether adjusted_p is at most 0.05 and the interval excludes zero.
WITH counted AS (
  SELECT
    r.brand_id,
    r.prompt_id,
    r.engine,
    count(*) FILTER (r.day < p.recent_from) AS before_responses,
    mention_count(r.day < p.recent_from AND r.brand_mentioned) AS before_mentions,
    count(*) FILTER (r.day >= p.recent_from) AS recent_responses,
    mention_count(r.day >= p.recent_from AND r.brand_mentioned) AS recent_mentions
  FROM mart.fct_response r
  JOIN mart.periods p ON p.brand_id = r.brand_id AND r.day BETWEEN coalesce(p.before_from, p.recent_from) AND p.anchor_day
  GROUP BY ALL
), expected AS (
  -- Mean and variance of the recent mentions of an engine if its mentions fall on the two periods by chance.
  SELECT *,
    before_responses + recent_responses AS n,
    before_mentions + recent_mentions AS m,
    recent_mentions - recent_responses * m / n AS surplus,
    if(n > 1, before_responses / n * recent_responses / n * m * (n - m) / (n - 1), 0) AS variance
  FROM counted
), scoped AS (
  SELECT
    brand_id,
    prompt_id,
    if(grouping(engine) = 0, 'engine', 'all engines') AS scope,
    engine,
    CAST(sum(before_responses) AS BIGINT) AS before_responses,
    CAST(sum(before_mentions) AS BIGINT) AS before_mentions,
    CAST(sum(recent_responses) AS BIGINT) AS recent_responses,
    CAST(sum(recent_mentions) AS BIGINT) AS recent_mentions,
    count(*) AS engines,
    sum(surplus) AS surplus,
    sum(variance) AS variance
  FROM expected
  GROUP BY GROUPING SETS ((brand_id, prompt_id, engine), (brand_id, prompt_id))
), panel AS (
  SELECT s.*, p.text
  FROM scoped s
  JOIN main.prompts p ON p.brand_id = s.brand_id AND p.id = s.prompt_id AND p._deleted_at IS NULL
  WHERE s.before_responses > 0 AND s.recent_responses > 0
), splits AS (
  -- Few distinct counts need a test, because most prompts have about the same number of responses.
  SELECT DISTINCT before_responses AS n1, recent_responses AS n2, before_mentions + recent_mentions AS m
  FROM panel WHERE before_mentions + recent_mentions BETWEEN 1 AND before_responses + recent_responses - 1
), weights AS (
  -- The hypergeometric distribution of recent_mentions if the mentions fall on the two periods by chance.
  SELECT n1, n2, m, k,
    hypergeometric(k, m, n1, n2) AS weight
  FROM (SELECT *, unnest(range(greatest(0, m - n1), least(n2, m) + 1)) AS k FROM splits)
), tails AS (
  SELECT n1, n2, m, k, sum(weight) OVER (PARTITION BY n1, n2, m ORDER BY k) - weight / 2 AS below,
    sum(weight) OVER (PARTITION BY n1, n2, m ORDER BY k DESC) - weight / 2 AS above
  FROM weights
), tested AS (
  SELECT p.*, CASE WHEN t.k IS NOT NULL THEN greatest(least(1, 2 * least(t.below, t.above)), p.least_p) END AS p_value
  FROM (
    SELECT *, surplus / sqrt(variance) AS deviation, CASE
      WHEN engines = 1 THEN 0
      WHEN variance > 0 AND surplus * (recent_mentions / recent_responses - before_mentions / before_responses) > 0
        THEN two_sided_p(deviation)
      ELSE 1 END AS least_p
    FROM panel
  ) p
  LEFT JOIN tails t ON t.n1 = p.before_responses AND t.n2 = p.recent_responses
    AND t.m = p.before_mentions + p.recent_mentions AND t.k = p.recent_mentions
), ranked AS (
  SELECT *, corrected_scale(p_value, brand_id, scope) AS scaled,
    count(p_value) OVER (PARTITION BY brand_id, scope) AS tested
  FROM tested
), adjusted AS (
  SELECT *, corrected_p(p_value, scaled, brand_id, scope) AS adjusted_p FROM ranked
), levels AS (
  SELECT *, CASE WHEN adjusted_p <= 0.05
    THEN 1 - 0.05 * count(*) FILTER (adjusted_p <= 0.05) OVER (PARTITION BY brand_id, scope) / tested
    ELSE 0.95 END AS interval_level
  FROM adjusted
), quantiles AS (
  -- AS 241 for tails below 0.025: the quantile is a rational function of r.
  SELECT *, sqrt(-ln((1 - interval_level) / 2)) - 1.6 AS r,
    (((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 0.241780725177450611770) * r
      + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.76949722146069140550) * r + 4.63033784615654529590) * r
      + 1.42343711074968357734)
    / (((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2) * r
      + 0.148103976427480074590) * r + 0.689767334985100004550) * r + 1.67638483018380384940) * r + 2.05319162663775882187) * r
      + 1) AS z
  FROM levels
), bounds AS (
  -- Wilson's score interval of each period.
  SELECT *,
    before_mentions / before_responses AS p1,
    recent_mentions / recent_responses AS p2,
    z * z / before_responses AS w1,
    z * z / recent_responses AS w2,
    wilson_lower(p1, w1) AS lower1,
    wilson_upper(p1, w1) AS upper1,
    wilson_lower(p2, w2) AS lower2,
    wilson_upper(p2, w2) AS upper2,
    newcombe_lower(p2, lower2, p1, upper1) AS change_lower,
    newcombe_upper(p2, upper2, p1, lower1) AS change_upper
  FROM quantiles
)
SELECT
  brand_id,
  prompt_id,
  text,
  scope,
  engine,
  before_responses,
  before_mentions,
  p1 AS before_visibility,
  recent_responses,
  recent_mentions,
  p2 AS recent_visibility,
  p2 - p1 AS change,
  change_lower,
  change_upper,
  interval_level,
  p_value,
  adjusted_p,
  tested,
  coalesce(adjusted_p <= 0.05 AND (change_lower > 0 OR change_upper < 0), false) AS is_significant
FROM bounds
