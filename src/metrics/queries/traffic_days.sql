-- Visits that AI assistants referred: one row per period and source with visits.
-- parameter grain VARCHAR day day|week|month: Length of a period.
-- column period DATE: First day of the period, in the time zone of the analytics property.
-- column source VARCHAR: The assistant that referred the visits.
-- column sessions BIGINT: Sessions.
-- column engaged_sessions BIGINT: Engaged sessions.
-- column new_users BIGINT: New users.
-- column key_events BIGINT: Key events.
-- column revenue DOUBLE: Revenue in the currency of the column currency.
-- column currency VARCHAR: The property's currency; null if the API reported none.
SELECT CAST(date_trunc($grain, day) AS DATE) AS period, source,
  CAST(sum(sessions) AS BIGINT) AS sessions, CAST(sum(engaged_sessions) AS BIGINT) AS engaged_sessions,
  CAST(sum(new_users) AS BIGINT) AS new_users, CAST(sum(key_events) AS BIGINT) AS key_events,
  sum(revenue) AS revenue, currency
FROM mart.fct_traffic_daily
WHERE brand_id = $brand AND day BETWEEN $from AND $to
GROUP BY ALL
ORDER BY period, source, currency
