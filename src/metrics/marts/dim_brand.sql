-- Current brands of the workspace: one row per brand.
-- column brand_id UUID: The brand.
-- column name VARCHAR: Brand name.
-- column website_url VARCHAR: The brand's website.
-- column host VARCHAR: Host of the website in lower case, without www; domains at or below it are owned. Null if
--   unknown.
-- column has_sites BOOLEAN: Whether a site of the brand is known: its website, or a domain that is marked as its own.
-- column created_at TIMESTAMPTZ: When the brand was created (UTC).
SELECT
  id AS brand_id,
  name,
  website_url,
  nullif(host_of(website_url), '') AS host,
  host IS NOT NULL OR id IN (SELECT brand_id FROM mart.marks WHERE kind = 'domain' AND value = 'ours') AS has_sites,
  created_at
FROM main.brands
WHERE _deleted_at IS NULL
