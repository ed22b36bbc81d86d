-- Alerts by type, including alerts that the API no longer lists: one row per period and type with alerts.
-- parameter grain VARCHAR day day|week|month: Length of a period.
-- parameter type VARCHAR null: Alert type.
-- column period DATE: First day of the period (UTC).
-- column type VARCHAR: Alert type.
-- column alerts BIGINT: Alerts.
SELECT CAST(date_trunc($grain, make_timestamp(epoch_us(detected_at))) AS DATE) AS period, type, count(*) AS alerts
FROM main.alerts
WHERE brand_id = $brand AND ($type IS NULL OR type = $type)
  AND in_days(detected_at, $from, $to)
GROUP BY ALL ORDER BY period, type
