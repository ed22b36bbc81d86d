-- Alerts that the service raised: one row per alert.
-- key: alert_id
-- time: detected_at
-- column alert_id UUID: The alert.
-- column brand_id UUID: The brand.
-- column detected_at TIMESTAMPTZ: When it was detected (UTC).
-- column day DATE: Day of that moment (UTC).
-- column type VARCHAR: Alert type.
-- column headline VARCHAR: Headline.
-- column detail VARCHAR: Detail.
-- column competitor VARCHAR: Name of the competitor it is about, if any.
-- column domain VARCHAR: The domain it is about, if any.
-- column previous DOUBLE: The previous number, as reported by upstream.
-- column current DOUBLE: The number at that time, as reported by upstream.
SELECT id AS alert_id, brand_id, detected_at, CAST(make_timestamp(epoch_us(detected_at)) AS DATE) AS day,
  type, headline, detail, competitor, domain,
  previous, current
FROM main.alerts
WHERE _deleted_at IS NULL AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
