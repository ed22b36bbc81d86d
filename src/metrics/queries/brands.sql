-- Brands of the workspace: one row per brand.
-- column brand_id UUID: The brand.
-- column brand VARCHAR: Name of the brand.
-- column website_url VARCHAR: The brand's website.
-- column domain VARCHAR: Host of the website; null if unknown.
-- column first_day DATE: Day of the first response (UTC); null without responses.
-- column last_day DATE: Day of the last response (UTC).
-- column responses BIGINT: Responses of all days.
-- column competitors BIGINT: Currently tracked competitors.
-- column prompts BIGINT: Current prompts.
WITH spans AS (
  SELECT brand_id, min(created_at) AS first_at, max(created_at) AS last_at, count(*) AS responses
  FROM mart.fct_response WHERE brand_id IN $brands GROUP BY brand_id
), rivals AS (
  SELECT brand_id, count(*) AS competitors FROM mart.dim_competitor GROUP BY brand_id
), listed AS (
  SELECT brand_id, count(*) AS prompts FROM main.prompts WHERE _deleted_at IS NULL GROUP BY brand_id
)
SELECT
  b.brand_id,
  b.name AS brand,
  b.website_url,
  b.host AS domain,
  CAST(make_timestamp(epoch_us(s.first_at)) AS DATE) AS first_day,
  CAST(make_timestamp(epoch_us(s.last_at)) AS DATE) AS last_day,
  coalesce(s.responses, 0) AS responses,
  coalesce(r.competitors, 0) AS competitors,
  coalesce(l.prompts, 0) AS prompts
FROM mart.dim_brand b
LEFT JOIN spans s USING (brand_id)
LEFT JOIN rivals r USING (brand_id)
LEFT JOIN listed l USING (brand_id)
WHERE b.brand_id IN $brands
ORDER BY b.name, b.brand_id
