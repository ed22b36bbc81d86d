-- Who gains on us? Visibility of us and our competitors, with the change
-- Visibility of the brand and of each competitor in the last 28 days and in the 28 days before, with the 95 % interval
-- of the change (Newcombe).
-- tables: mart.mentions_daily, mart.answers_daily, mart.periods
-- columns: brand, entity_type, entity, before_visibility, recent_visibility, change, change_lower, change_upper,
--   is_significant, recent_mentions
WITH responses AS (
  SELECT a.brand_id,
    CAST(sum(a.responses) FILTER (a.day < p.recent_from) AS BIGINT) AS before_n,
    CAST(sum(a.responses) FILTER (a.day >= p.recent_from) AS BIGINT) AS recent_n
  FROM mart.answers_daily a
  JOIN mart.periods p ON p.brand_id = a.brand_id AND a.day BETWEEN coalesce(p.before_from, p.recent_from) AND p.anchor_day
  GROUP BY a.brand_id
), mentions AS (
  SELECT m.brand_id, m.brand_name AS brand, m.entity_type, coalesce(m.competitor_name, m.brand_name) AS entity,
    CAST(coalesce(sum(m.mentions) FILTER (m.day < p.recent_from), 0) AS BIGINT) AS before_m,
    CAST(coalesce(sum(m.mentions) FILTER (m.day >= p.recent_from), 0) AS BIGINT) AS recent_m
  FROM mart.mentions_daily m
  JOIN mart.periods p ON p.brand_id = m.brand_id AND m.day BETWEEN coalesce(p.before_from, p.recent_from) AND p.anchor_day
  GROUP BY ALL
), shares AS (
  SELECT *, before_m / before_n AS b, recent_m / recent_n AS r, 3.8415 / before_n AS wb, 3.8415 / recent_n AS wr
  FROM mentions JOIN responses USING (brand_id)
), bounds AS (
  SELECT *,
    wilson_lower(b, wb) AS b_low,
    wilson_upper(b, wb) AS b_high,
    wilson_lower(r, wr) AS r_low,
    wilson_upper(r, wr) AS r_high
  FROM shares
)
SELECT brand, entity_type, entity, b AS before_visibility, r AS recent_visibility, r - b AS change,
  newcombe_lower(r, r_low, b, b_high) AS change_lower,
  newcombe_upper(r, r_high, b, b_low) AS change_upper,
  coalesce(change_lower > 0 OR change_upper < 0, false) AS is_significant, recent_m AS recent_mentions
FROM bounds
ORDER BY brand, recent_visibility DESC NULLS LAST, entity
