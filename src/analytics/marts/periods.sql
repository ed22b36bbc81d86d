-- The two periods that other marts compare: one row per brand with responses on a completely synced day.
-- formula: the recent period is the 28 days up to the last completely synced day with responses; the period before is
--   the 28 days before that. Both depend on the data only, not on the current date.
-- column brand_id UUID: The brand.
-- column complete_to DATE: Last completely synced day (UTC), with or without responses.
-- column anchor_day DATE: Last completely synced day with responses; the recent period ends with it.
-- column recent_from DATE: First day of the recent period.
-- column before_from DATE: First day of the period before.
-- column before_to DATE: Last day of the period before.
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
)
SELECT
  brand_id,
  complete_to,
  max(day) AS anchor_day,
  max(day) - 27 AS recent_from,
  max(day) - 55 AS before_from,
  max(day) - 28 AS before_to
FROM days JOIN complete USING (brand_id)
WHERE day <= complete_to
GROUP BY brand_id, complete_to
