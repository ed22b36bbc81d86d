-- Currently tracked competitors: one row per brand and competitor.
-- column brand_id UUID: The brand.
-- column competitor_id UUID: The competitor.
-- column name VARCHAR: Competitor name.
-- column host VARCHAR: Host of its website, the first in alphabetical order if upstream reports several; null if it
--   reports none.
-- column has_sites BOOLEAN: Whether a site of it is known: a host, or a domain that is marked as its own.
SELECT c.brand_id, c.id AS competitor_id, any_value(c.name) AS name, min(h.host) AS host,
  count(h.host) + count(m.value) > 0 AS has_sites
FROM main.competitors c
LEFT JOIN mart.competitor_host h ON h.brand_id = c.brand_id AND h.competitor_id = c.id
LEFT JOIN mart.marks m ON m.brand_id = c.brand_id AND m.kind = 'domain'
  AND (m.value = CAST(c.id AS VARCHAR) OR lower(m.value) = lower(c.name))
WHERE c._deleted_at IS NULL AND c.brand_id IN (SELECT brand_id FROM mart.dim_brand)
GROUP BY c.brand_id, c.id
