-- Correlation of visits from AI assistants with visibility: one row per brand and lag of 0 to 3 weeks.
-- formula: Pearson's correlation of a week's visibility over all engines with the sessions lag_weeks weeks later, over
--   weeks that are complete on both sides.
-- source: Pearson, K. (1895), Note on regression and inheritance in the case of two parents, Proc. R. Soc. Lond.
--   58:240-242.
-- column brand_id UUID: The brand.
-- column lag_weeks BIGINT: Weeks from the visibility to the visits.
-- column weeks BIGINT: Pairs of weeks that were compared.
-- column correlation DOUBLE: From -1 to 1; null with fewer than two pairs, or if one side is constant.
-- column responses BIGINT: Responses of the weeks compared.
-- column mentions BIGINT: Responses that mention the brand.
-- column sessions BIGINT: Sessions of the weeks compared.
WITH answered AS (
  SELECT w.brand_id, w.week, w.responses, w.mentions, w.visibility
  FROM mart.visibility_weekly w
  JOIN (SELECT brand_id, min(day) AS first_day FROM mart.fct_response GROUP BY brand_id) b USING (brand_id)
  WHERE w.scope = 'all engines' AND w.is_complete AND w.week >= b.first_day
), visited AS (
  SELECT t.brand_id, CAST(date_trunc('week', t.day) AS DATE) AS week, CAST(sum(t.sessions) AS BIGINT) AS sessions
  FROM mart.fct_traffic_daily t
  JOIN (SELECT brand_id, min(day) AS first_day, max(day) AS last_day FROM mart.fct_traffic_daily GROUP BY brand_id) b
    USING (brand_id)
  JOIN mart.periods p USING (brand_id)
  -- The current day of the analytics property at the last sync; UTC may be a day ahead.
  LEFT JOIN (SELECT brand_id, max(day) AS today FROM sync.echoed_days WHERE resource = 'traffic' GROUP BY brand_id) e
    USING (brand_id)
  WHERE date_trunc('week', t.day) >= b.first_day
    AND date_trunc('week', t.day) + INTERVAL 6 DAY <= least(b.last_day, p.complete_to, e.today - 1)
  GROUP BY ALL
)
SELECT
  a.brand_id,
  l.lag_weeks,
  count(*) AS weeks,
  CASE WHEN isfinite(corr(v.sessions, a.visibility)) THEN corr(v.sessions, a.visibility) END AS correlation,
  CAST(sum(a.responses) AS BIGINT) AS responses,
  CAST(sum(a.mentions) AS BIGINT) AS mentions,
  CAST(sum(v.sessions) AS BIGINT) AS sessions
FROM answered a
CROSS JOIN (SELECT unnest(range(0, 4)) AS lag_weeks) l
JOIN visited v ON v.brand_id = a.brand_id AND v.week = a.week + CAST(7 * l.lag_weeks AS INTEGER)
WHERE v.sessions IS NOT NULL
GROUP BY a.brand_id, l.lag_weeks
