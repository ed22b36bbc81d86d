-- The two periods that other marts compare: one row per brand with responses on a completely synced day.
-- formula: the recent period is the 28 days up to the last completely synced day with responses; the period before is
--   the 28 days before that. Both depend on the data only, not on the current date. There is no period before if the
--   responses begin later than its first day, or if a day of the two periods was not read although upstream counts
--   responses on it: its counts would be too low, and a comparison untrue.
-- column brand_id UUID: The brand.
-- column complete_to DATE: Last completely synced day (UTC), with or without responses.
-- column anchor_day DATE: Last completely synced day with responses; the recent period ends with it.
-- column recent_from DATE: First day of the recent period.
-- column before_from DATE: First day of the period before; null if there is none.
-- column before_to DATE: Last day of the period before; null if there is none.
WITH days AS (
  SELECT DISTINCT brand_id, day FROM mart.answers_daily
), read AS (
  SELECT brand_id, max(last_day) AS last_day FROM (
    SELECT brand_id, least(coalesce(range_to, closed_day), closed_day - 1) AS last_day
    FROM (SELECT *, CAST(make_timestamp(epoch_us(closed_at)) AS DATE) AS closed_day FROM sync.coverage)
    WHERE resource = 'responses'
    UNION ALL
    SELECT brand_id, day FROM sync.audits
    WHERE resource = 'responses' AND agreed AND CAST(make_timestamp(epoch_us(checked_at)) AS DATE) > day
  ) GROUP BY brand_id
), complete AS (
  -- If the time of the last sync is unknown, the last day may be incomplete.
  SELECT days.brand_id, coalesce(any_value(read.last_day), max(days.day) - 1) AS complete_to
  FROM days LEFT JOIN read USING (brand_id) GROUP BY days.brand_id
), spans AS (
  SELECT brand_id, complete_to, min(day) AS first_day, max(day) AS anchor_day
  FROM days JOIN complete USING (brand_id) WHERE day <= complete_to GROUP BY brand_id, complete_to
), unread AS (
  SELECT DISTINCT s.brand_id FROM spans s
  JOIN main.metrics_daily m ON m.brand_id = s.brand_id AND m.date BETWEEN s.anchor_day - 55 AND s.anchor_day
    AND m.responses > 0 AND m._deleted_at IS NULL
  ANTI JOIN sync.coverage c ON c.resource = 'responses' AND c.brand_id = m.brand_id AND m.date BETWEEN c.range_from AND c.range_to
  ANTI JOIN sync.audits a ON a.resource = 'responses' AND a.agreed AND a.brand_id = m.brand_id AND a.day = m.date
)
SELECT
  brand_id,
  complete_to,
  anchor_day,
  anchor_day - 27 AS recent_from,
  CASE WHEN is_compared THEN anchor_day - 55 END AS before_from,
  CASE WHEN is_compared THEN anchor_day - 28 END AS before_to
FROM (
  SELECT *, first_day <= anchor_day - 55 AND brand_id NOT IN (SELECT brand_id FROM unread) AS is_compared FROM spans
)
