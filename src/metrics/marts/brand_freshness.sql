-- Freshness of the responses: one row per current brand.
-- key: brand_id
-- column brand_id UUID: The brand.
-- column read_at TIMESTAMPTZ: When the responses were last read completely up to the day of the read; null if never.
-- column complete_to DATE: Last completely synced day (UTC), with or without responses; null without responses.
WITH read AS (
  SELECT brand_id, max(closed_at) AS read_at FROM sync.coverage
  WHERE resource = 'responses'
    AND (range_to IS NULL OR range_to >= CAST(make_timestamp(epoch_us(closed_at)) AS DATE) - 1)
  GROUP BY brand_id
)
SELECT brand_id, read_at, complete_to
FROM mart.dim_brand LEFT JOIN read USING (brand_id) LEFT JOIN mart.periods USING (brand_id)
