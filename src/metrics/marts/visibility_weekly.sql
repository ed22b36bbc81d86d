-- Visibility by week: one row per brand, ISO week and engine, and one per brand and week over all engines. Filter by
-- scope before summing.
-- formula: visibility = mentions / responses; the bounds are Wilson's score interval with z = 1.959964 (95 %).
-- source: Wilson, E. B. (1927), Probable inference, the law of succession, and statistical inference, JASA 22:209-212.
-- column brand_id UUID: The brand.
-- column week DATE: Monday of the ISO week (UTC).
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column is_complete BOOLEAN: Whether every day of the week is completely synced; false for the current week.
-- column responses BIGINT: Responses in scope.
-- column mentions BIGINT: Responses that mention the brand.
-- column visibility DOUBLE: mentions / responses, from 0 to 1.
-- column visibility_lower DOUBLE: Lower bound of the 95 % interval.
-- column visibility_upper DOUBLE: Upper bound of the 95 % interval.
WITH weeks AS (
  SELECT
    brand_id,
    CAST(date_trunc('week', day) AS DATE) AS week,
    engine,
    grouping(engine) AS combined,
    CAST(sum(responses) AS BIGINT) AS n,
    CAST(sum(mentions) AS BIGINT) AS m,
    m / n AS p,
    wilson_weight(n) AS w
  FROM mart.answers_daily GROUP BY GROUPING SETS ((brand_id, week, engine), (brand_id, week))
)
SELECT
  brand_id,
  week,
  CASE combined WHEN 0 THEN 'engine' ELSE 'all engines' END AS scope,
  engine,
  coalesce(week + 6 <= complete_to, false) AS is_complete,
  n AS responses,
  m AS mentions,
  p AS visibility,
  greatest(0, wilson_lower(p, w)) AS visibility_lower,
  least(1, wilson_upper(p, w)) AS visibility_upper
FROM weeks
LEFT JOIN mart.periods USING (brand_id)
