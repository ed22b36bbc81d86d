-- Which engines mention us most, and did that change?
-- Visibility per engine in the last 28 days and in the 28 days before, with the 95 % interval of the change (Newcombe).
-- tables: mart.answers_daily, mart.periods
-- columns: brand, engine, before_responses, before_visibility, recent_responses, recent_visibility, change,
--   change_lower, change_upper, is_significant
WITH counted AS (
  SELECT a.brand_id, a.brand_name AS brand, a.engine,
    CAST(coalesce(sum(a.responses) FILTER (a.day < p.recent_from), 0) AS BIGINT) AS before_n,
    CAST(coalesce(sum(a.mentions) FILTER (a.day < p.recent_from), 0) AS BIGINT) AS before_m,
    CAST(coalesce(sum(a.responses) FILTER (a.day >= p.recent_from), 0) AS BIGINT) AS recent_n,
    CAST(coalesce(sum(a.mentions) FILTER (a.day >= p.recent_from), 0) AS BIGINT) AS recent_m
  FROM mart.answers_daily a
  JOIN mart.periods p ON p.brand_id = a.brand_id AND a.day BETWEEN coalesce(p.before_from, p.recent_from) AND p.anchor_day
  GROUP BY ALL
), shares AS (
  SELECT *, before_m / before_n AS b, recent_m / recent_n AS r, 3.8415 / before_n AS wb, 3.8415 / recent_n AS wr
  FROM counted
), bounds AS (
  SELECT *,
    wilson_lower(b, wb) AS b_low,
    wilson_upper(b, wb) AS b_high,
    wilson_lower(r, wr) AS r_low,
    wilson_upper(r, wr) AS r_high
  FROM shares
)
SELECT brand, engine, before_n AS before_responses, b AS before_visibility, recent_n AS recent_responses,
  r AS recent_visibility, r - b AS change, newcombe_lower(r, r_low, b, b_high) AS change_lower,
  newcombe_upper(r, r_high, b, b_low) AS change_upper,
  coalesce(change_lower > 0 OR change_upper < 0, false) AS is_significant
FROM bounds
ORDER BY brand, recent_visibility DESC NULLS LAST, engine
