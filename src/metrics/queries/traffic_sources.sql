-- Visits that AI assistants referred, in the range and in the comparison range: one row per source and currency.
-- column source VARCHAR: The assistant that referred the visits.
-- column currency VARCHAR: The property's currency; null if the API reported none.
-- column sessions BIGINT: Sessions.
-- column engaged_sessions BIGINT: Engaged sessions.
-- column new_users BIGINT: New users.
-- column key_events BIGINT: Key events.
-- column revenue DOUBLE: Revenue in the currency.
-- column sessions_before BIGINT: Sessions of the comparison range; null without a comparison.
-- column engaged_sessions_before BIGINT: Engaged sessions of the comparison range.
-- column new_users_before BIGINT: New users of the comparison range.
-- column key_events_before BIGINT: Key events of the comparison range.
-- column revenue_before DOUBLE: Revenue of the comparison range.
WITH days AS (
  SELECT *, day BETWEEN $from AND $to AS is_now FROM mart.fct_traffic_daily
  WHERE brand_id = $brand AND (day BETWEEN $from AND $to OR day BETWEEN $before_from AND $before_to)
), sums AS (
  SELECT source, currency, is_now, sum(sessions) AS sessions, sum(engaged_sessions) AS engaged_sessions, sum(new_users) AS new_users,
    sum(key_events) AS key_events, sum(revenue) AS revenue
  FROM days GROUP BY ALL
), sources AS (
  SELECT DISTINCT source, currency FROM days
)
SELECT s.source, s.currency,
  CAST(coalesce(n.sessions, 0) AS BIGINT) AS sessions, CAST(coalesce(n.engaged_sessions, 0) AS BIGINT) AS engaged_sessions,
  CAST(coalesce(n.new_users, 0) AS BIGINT) AS new_users, CAST(coalesce(n.key_events, 0) AS BIGINT) AS key_events,
  coalesce(n.revenue, 0) AS revenue,
  CAST(if($before_from IS NULL, NULL, coalesce(b.sessions, 0)) AS BIGINT) AS sessions_before,
  CAST(if($before_from IS NULL, NULL, coalesce(b.engaged_sessions, 0)) AS BIGINT) AS engaged_sessions_before,
  CAST(if($before_from IS NULL, NULL, coalesce(b.new_users, 0)) AS BIGINT) AS new_users_before,
  CAST(if($before_from IS NULL, NULL, coalesce(b.key_events, 0)) AS BIGINT) AS key_events_before,
  if($before_from IS NULL, NULL, coalesce(b.revenue, 0)) AS revenue_before
FROM sources s
LEFT JOIN sums n ON n.is_now AND n.source = s.source AND n.currency IS NOT DISTINCT FROM s.currency
LEFT JOIN sums b ON NOT b.is_now AND b.source = s.source AND b.currency IS NOT DISTINCT FROM s.currency
ORDER BY sessions DESC, s.source, s.currency
