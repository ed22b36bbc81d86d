-- The analytics property of a brand and its share of visits from AI assistants: one row if the API reported totals, otherwise none. Site
-- sessions are the sum of reported ranges that do not overlap and lie within the range of days.
-- column connected BOOLEAN: Whether a property is connected, by the newest report.
-- column property VARCHAR: Name of the property.
-- column currency VARCHAR: Its currency.
-- column recorded_at TIMESTAMPTZ: When a sync first stored visits or totals (UTC).
-- column first_day DATE: First day with visits.
-- column last_day DATE: Last day with visits.
-- column days BIGINT: Days of the range.
-- column site_days BIGINT: Days of the range for which the API reported site sessions.
-- column site_sessions BIGINT: Sessions of the whole site on these days.
-- column ai_sessions BIGINT: Sessions that AI assistants referred on these days.
-- column share_of_site DOUBLE: ai_sessions / site_sessions, from 0 to 1.
WITH RECURSIVE reported AS (
  SELECT range_from, range_to, any_value(site_sessions) AS site_sessions
  FROM main.traffic_totals
  WHERE brand_id = $brand AND _deleted_at IS NULL AND connected AND site_sessions IS NOT NULL
    AND range_from >= $from AND range_to <= $to
  GROUP BY ALL
), longest AS (
  -- The longest range that begins on a day.
  SELECT range_from, max(range_to) AS range_to, arg_max(site_sessions, range_to) AS site_sessions FROM reported GROUP BY range_from
), chosen AS (
  SELECT * FROM (SELECT * FROM longest ORDER BY range_from LIMIT 1)
  UNION ALL
  SELECT l.* FROM chosen c JOIN longest l ON l.range_from = (SELECT min(n.range_from) FROM longest n WHERE n.range_from > c.range_to)
), site AS (
  SELECT sum(range_to - range_from + 1) AS days, sum(site_sessions) AS sessions FROM chosen
), visits AS (
  SELECT sum(t.sessions) AS sessions
  FROM main.traffic_daily t JOIN chosen c ON t.date BETWEEN c.range_from AND c.range_to
  WHERE t.brand_id = $brand AND t._deleted_at IS NULL
), newest AS (
  SELECT connected, property, currency FROM main.traffic_totals WHERE brand_id = $brand AND _deleted_at IS NULL
  ORDER BY _synced_at DESC, range_to DESC, range_from LIMIT 1
), stored AS (
  SELECT min(date) AS first_day, max(date) AS last_day FROM main.traffic_daily
  WHERE brand_id = $brand AND _deleted_at IS NULL AND sessions > 0
), since AS (
  SELECT min(valid_from) AS recorded_at FROM main.traffic_totals_history WHERE brand_id = $brand
)
SELECT n.connected, n.property, n.currency, since.recorded_at, stored.first_day, stored.last_day,
  $to - $from + 1 AS days, CAST(coalesce(site.days, 0) AS BIGINT) AS site_days, CAST(site.sessions AS BIGINT) AS site_sessions,
  CAST(visits.sessions AS BIGINT) AS ai_sessions, coalesce(visits.sessions, 0) / nullif(site.sessions, 0) AS share_of_site
FROM newest n, site, visits, stored, since
