-- Newest alerts of a brand, of any day: one row per alert.
-- parameter limit BIGINT 6: Maximum number of rows.
-- column alert_id UUID: The alert.
-- column detected_at TIMESTAMPTZ: When it was detected (UTC).
-- column type VARCHAR: Alert type.
-- column headline VARCHAR: Headline.
-- column detail VARCHAR: Detail.
-- column competitor VARCHAR: Name of the competitor it is about, if any.
-- column domain VARCHAR: The domain it is about, if any.
SELECT alert_id, detected_at, type, headline, detail, competitor, domain
FROM mart.fct_alert
WHERE brand_id = $brand
ORDER BY detected_at DESC NULLS LAST, alert_id
LIMIT $limit
