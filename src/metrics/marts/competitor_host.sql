-- Hosts found in upstream's competitor records: one row per currently tracked competitor and host. Often empty, because
-- the API does not guarantee any.
-- formula: strings, and lists of strings, in record fields named url or with domain, website, homepage or site in their
--   name; lower case, without www.
-- column brand_id UUID: The brand.
-- column competitor_id UUID: The competitor.
-- column host VARCHAR: The host; domains at or below it are the competitor's.
WITH fields AS (
  SELECT brand_id, id AS competitor_id, record, unnest(json_keys(record)) AS field
  FROM main.competitors
  WHERE _deleted_at IS NULL AND json_type(record) = 'OBJECT' AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
), given AS (
  SELECT brand_id, competitor_id, map_extract(CAST(record AS MAP(VARCHAR, JSON)), field)[1] AS value
  FROM fields WHERE regexp_matches(lower(field), 'domain|website|homepage|^(site|url|siteurl)s?$')
), texts AS (
  SELECT brand_id, competitor_id, unnest(CASE json_type(value)
    WHEN 'VARCHAR' THEN [json_extract_string(value, '$')]
    WHEN 'ARRAY' THEN json_extract_string(value, '$[*]')
    ELSE []
  END) AS address
  FROM given
)
SELECT DISTINCT
  brand_id,
  competitor_id,
  host_of(address) AS host
FROM texts
WHERE host <> ''
