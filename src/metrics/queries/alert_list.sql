-- Alerts of a range of days, including alerts that the API no longer lists: one row per alert.
-- parameter type VARCHAR null: Alert type.
-- column alert_id UUID: The alert.
-- column detected_at TIMESTAMPTZ: When it was detected (UTC).
-- column type VARCHAR: Alert type.
-- column headline VARCHAR: Headline.
-- column detail VARCHAR: Detail.
-- column competitor VARCHAR: Name of the competitor it is about, if any.
-- column domain VARCHAR: The domain it is about, if any.
-- column previous DOUBLE: The previous number, as reported by the API.
-- column current DOUBLE: The number at that time, as reported by the API.
-- column gone_at TIMESTAMPTZ: Time (UTC) at which a sync found that it is no longer listed; null while it is listed.
SELECT id AS alert_id, detected_at, type, headline, detail, competitor, domain, previous, current, _deleted_at AS gone_at
FROM main.alerts
WHERE brand_id = $brand AND ($type IS NULL OR type = $type)
  AND in_days(detected_at, $from, $to)
ORDER BY detected_at DESC, id
