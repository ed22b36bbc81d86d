-- Visits that AI assistants referred: one row per brand, day and source.
-- key: brand_id, source
-- time: day
-- column brand_id UUID: The brand.
-- column day DATE: The day, in the analytics property's time zone.
-- column source VARCHAR: The assistant that referred the visits.
-- column sessions BIGINT: Sessions.
-- column engaged_sessions BIGINT: Engaged sessions.
-- column new_users BIGINT: New users.
-- column key_events BIGINT: Key events.
-- column revenue DOUBLE: Revenue, in the currency of the column currency.
-- column currency VARCHAR: The property's currency on that day, if upstream reported one.
WITH currencies AS (
  -- The currency of a day is that of the shortest reported range that contains it.
  -- Of equally long ranges, it is that of the first.
  SELECT d.brand_id, d.day,
    arg_min(t.currency, (t.range_to - t.range_from) * 10000000 + (t.range_from - DATE '1970-01-01')) AS currency
  FROM (SELECT DISTINCT brand_id, date AS day FROM main.traffic_daily WHERE _deleted_at IS NULL) d
  JOIN main.traffic_totals t ON t.brand_id = d.brand_id AND d.day BETWEEN t.range_from AND t.range_to
  WHERE t._deleted_at IS NULL AND t.currency IS NOT NULL
  GROUP BY d.brand_id, d.day
)
SELECT t.brand_id, t.date AS day, t.source, t.sessions, t.engaged_sessions, t.new_users, t.key_events, t.revenue, c.currency
FROM main.traffic_daily t
LEFT JOIN currencies c ON c.brand_id = t.brand_id AND c.day = t.date
WHERE t._deleted_at IS NULL AND t.brand_id IN (SELECT brand_id FROM mart.dim_brand)
