-- Which AI assistants send us visitors and revenue?
-- Sessions, key events and revenue of the last 28 days with data. before_sessions are those of the 28 days before, null if
-- the visits begin later.
-- tables: mart.fct_traffic_daily, mart.dim_brand
-- columns: brand, source, currency, before_sessions, sessions, key_events, revenue, revenue_per_session
WITH recent AS (
  SELECT *, max(day) OVER (PARTITION BY brand_id) - 27 AS recent_from, min(day) OVER (PARTITION BY brand_id) AS first_day
  FROM mart.fct_traffic_daily
)
SELECT b.name AS brand, r.source, r.currency,
  CASE WHEN bool_and(r.first_day <= r.recent_from - 28) THEN
    CAST(coalesce(sum(r.sessions) FILTER (r.day BETWEEN r.recent_from - 28 AND r.recent_from - 1), 0) AS BIGINT)
  END AS before_sessions,
  CAST(coalesce(sum(r.sessions) FILTER (r.day >= r.recent_from), 0) AS BIGINT) AS sessions,
  CAST(coalesce(sum(r.key_events) FILTER (r.day >= r.recent_from), 0) AS BIGINT) AS key_events,
  sum(r.revenue) FILTER (r.day >= r.recent_from) AS revenue,
  sum(r.revenue) FILTER (r.day >= r.recent_from) / nullif(sum(r.sessions) FILTER (r.day >= r.recent_from), 0) AS revenue_per_session
FROM recent r
JOIN mart.dim_brand b ON b.brand_id = r.brand_id
GROUP BY r.brand_id, b.name, r.source, r.currency
ORDER BY brand, 5 DESC, r.source
