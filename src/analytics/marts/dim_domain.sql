-- Domains that responses cite, with their owners: one row per brand and domain.
-- formula: a domain belongs to the brand or a competitor if it equals the host of their website or is a subdomain of
--   it. Any other domain is a third party's if the hosts of the brand and all its competitors are known, else unknown.
-- column brand_id UUID: The brand whose responses cite the domain.
-- column domain VARCHAR: The domain, as in citations.
-- column owner VARCHAR: owned, competitor, third party, or unknown if upstream does not report all websites.
-- column competitor_id UUID: The competitor that owns it, if any.
WITH cited AS (
  SELECT brand_id, domain, host_of_domain(domain) AS host
  FROM (
    SELECT brand_id, domain FROM mart.fct_citation WHERE domain IS NOT NULL GROUP BY ALL
  )
), known AS (
  SELECT brand_id, bool_and(host IS NOT NULL) AS competitors_known FROM mart.dim_competitor GROUP BY brand_id
), rivals AS (
  SELECT c.brand_id, c.domain, min(h.competitor_id) AS competitor_id
  FROM cited c
  JOIN mart.competitor_host h ON h.brand_id = c.brand_id AND is_at_host(c.host, h.host)
  GROUP BY c.brand_id, c.domain
), owners AS (
  SELECT c.brand_id, c.domain, r.competitor_id,
    coalesce(is_at_host(c.host, b.host), false) AS is_owned,
    b.host IS NOT NULL AND coalesce(k.competitors_known, true) AS is_known
  FROM cited c
  JOIN mart.dim_brand b USING (brand_id)
  LEFT JOIN known k USING (brand_id)
  LEFT JOIN rivals r ON r.brand_id = c.brand_id AND r.domain = c.domain
)
SELECT
  brand_id,
  domain,
  CASE WHEN is_owned THEN 'owned' WHEN competitor_id IS NOT NULL THEN 'competitor' WHEN is_known THEN 'third party'
    ELSE 'unknown' END AS owner,
  CASE WHEN NOT is_owned THEN competitor_id END AS competitor_id
FROM owners
