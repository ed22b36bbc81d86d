-- One alert with its recorded versions: one row, or none for an unknown alert.
-- parameter alert UUID: The alert.
-- column alert_id UUID: The alert.
-- column detected_at TIMESTAMPTZ: When it was detected (UTC).
-- column day DATE: Day of that moment (UTC).
-- column type VARCHAR: Alert type.
-- column headline VARCHAR: Headline.
-- column detail VARCHAR: Detail.
-- column competitor VARCHAR: Name of the competitor it is about, if any.
-- column competitor_id UUID: The tracked competitor with this name, if there is exactly one.
-- column domain VARCHAR: The domain it is about, if any.
-- column previous DOUBLE: The previous number, as reported by the API.
-- column current DOUBLE: The number at that time, as reported by the API.
-- column recorded_since TIMESTAMPTZ: When a sync first recorded it (UTC).
-- column gone_at TIMESTAMPTZ: Time (UTC) at which a sync found that it is no longer listed; null while it is listed.
-- column versions JSON: Its recorded versions as a list of {since, change, headline, detail, previous, current}, oldest first.
WITH versions AS (
  SELECT min(valid_from) AS recorded_since,
    to_json(list({since: strftime(make_timestamp(epoch_us(valid_from)), '%Y-%m-%dT%H:%M:%SZ'), change: change, headline: headline,
      detail: detail, previous: previous, current: current} ORDER BY valid_from)) AS versions
  FROM main.alerts_history WHERE brand_id = $brand AND id = $alert
), rivals AS (
  SELECT name, any_value(id) AS id FROM main.competitors WHERE brand_id = $brand AND _deleted_at IS NULL
  GROUP BY name HAVING count(*) = 1
)
SELECT a.id AS alert_id, a.detected_at, CAST(make_timestamp(epoch_us(a.detected_at)) AS DATE) AS day, a.type, a.headline, a.detail,
  a.competitor, r.id AS competitor_id, a.domain, a.previous, a.current, v.recorded_since, a._deleted_at AS gone_at, v.versions
FROM main.alerts a
CROSS JOIN versions v
LEFT JOIN rivals r ON r.name = a.competitor
WHERE a.brand_id = $brand AND a.id = $alert
