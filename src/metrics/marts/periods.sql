-- The two periods that other marts compare: one row per brand that has answers on a day that is over and was read whole.
-- formula: the recent period is the 28 days that end with the last day that was read to its end and has answers; the
--   period before is the 28 days before those. Both follow from the data, not from the clock.
-- column brand_id UUID: The brand.
-- column complete_to DATE: Last day that was read to its end (UTC), with answers or without.
-- column anchor_day DATE: Last of these days that has answers; the recent period ends with it.
-- column recent_from DATE: First day of the recent period.
-- column before_from DATE: First day of the period before.
-- column before_to DATE: Last day of the period before.
WITH days AS (
  SELECT DISTINCT brand_id, day FROM mart.answers_daily
), read AS (
  SELECT brand_id, max(last_day) AS last_day FROM (
    SELECT brand_id, least(coalesce(range_to, CAST(closed_at AS DATE)), CAST(closed_at AS DATE) - 1) AS last_day
    FROM sync.coverage WHERE resource = 'responses'
    UNION ALL
    SELECT brand_id, day FROM sync.audits
    WHERE resource = 'responses' AND agreed AND CAST(checked_at AS DATE) > day
  ) GROUP BY brand_id
), complete AS (
  -- Where nothing tells when the last day was read, it may have more to come.
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
