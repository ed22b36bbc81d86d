-- Newest alerts of a brand with the reported change, of any day: one row per alert.
-- parameter limit BIGINT 10: Maximum number of rows.
-- column alert_id UUID: The alert.
-- column day DATE: Day on which it was detected (UTC).
-- column type VARCHAR: Alert type.
-- column headline VARCHAR: Headline.
-- column detail VARCHAR: Detail.
-- column previous DOUBLE: The reported value before.
-- column current DOUBLE: The reported value since.
-- column total BIGINT: Alerts without the limit.
SELECT alert_id, day, type, headline, detail, previous, "current", count(*) OVER () AS total
FROM mart.fct_alert
WHERE brand_id = $brand AND day IS NOT NULL
ORDER BY detected_at DESC, alert_id
LIMIT $limit
