-- Visibility, and visits from AI assistants: one row per period.
-- parameter grain VARCHAR day day|week|month: Length of a period.
-- column period DATE: First day of the period: UTC for responses, the analytics property's time zone for visits.
-- column responses BIGINT: Selected responses.
-- column mentions BIGINT: Selected responses that mention the brand.
-- column visibility DOUBLE: mentions / responses, from 0 to 1.
-- column visibility_lower DOUBLE: Lower bound of the 95 % interval (Wilson).
-- column visibility_upper DOUBLE: Upper bound of the 95 % interval (Wilson).
-- column sessions BIGINT: Sessions that AI assistants referred, of all sources; null without visits on any day.
WITH asked AS (
  SELECT CAST(date_trunc($grain, make_timestamp(epoch_us(created_at))) AS DATE) AS period, count(*) AS responses,
    mention_count(brand_mentioned) AS mentions
  FROM scope GROUP BY ALL
), visited AS (
  SELECT CAST(date_trunc($grain, day) AS DATE) AS period, CAST(sum(sessions) AS BIGINT) AS sessions
  FROM mart.fct_traffic_daily WHERE brand_id = $brand AND day BETWEEN $from AND $to GROUP BY ALL
), joined AS (
  SELECT coalesce(a.period, v.period) AS period, a.responses, a.mentions, a.mentions / a.responses AS p,
    wilson_weight(a.responses) AS w, v.sessions
  FROM asked a FULL JOIN visited v ON v.period = a.period
)
SELECT period, coalesce(responses, 0) AS responses, coalesce(mentions, 0) AS mentions, p AS visibility,
  wilson_lower(p, w) AS visibility_lower,
  wilson_upper(p, w) AS visibility_upper,
  sessions
FROM joined ORDER BY period
