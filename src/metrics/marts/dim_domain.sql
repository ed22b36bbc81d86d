-- Domains that responses cite, with their owners: one row per brand and domain.
-- formula: the mark of the longest marked host at or above the domain (mart.marks). Without one, a domain belongs to the brand or a
--   competitor if it equals the host of their website or is a subdomain of it. The owner of any other domain is unknown.
-- column brand_id UUID: The brand whose responses cite the domain.
-- column domain VARCHAR: The domain, as in citations.
-- column owner VARCHAR: owned, competitor, forum, press, third party, or unknown without a website or a mark.
-- column competitor_id UUID: The competitor that owns it, if any.
WITH cited AS (
  SELECT brand_id, domain, host_of_domain(domain) AS host
  FROM (
    SELECT brand_id, domain FROM mart.fct_citation WHERE domain IS NOT NULL GROUP BY ALL
  )
), marked AS (
  -- A mark of a reader precedes one of the setting for the same host.
  SELECT c.brand_id, c.domain, arg_max(m.value, 2 * length(m.host) + if(m.is_setting, 0, 1)) AS value
  FROM cited c
  JOIN (SELECT *, host_of_domain(id) AS host FROM mart.marks WHERE kind = 'domain') m
    ON m.brand_id = c.brand_id AND is_at_host(c.host, m.host)
  GROUP BY c.brand_id, c.domain
), meant AS (
  SELECT m.brand_id, m.domain,
    CASE m.value WHEN 'ours' THEN 'owned' WHEN 'other' THEN 'third party' WHEN 'forum' THEN 'forum' WHEN 'press' THEN 'press' END AS owner,
    min(k.competitor_id) AS competitor_id
  FROM marked m
  LEFT JOIN mart.dim_competitor k
    ON k.brand_id = m.brand_id AND (CAST(k.competitor_id AS VARCHAR) = m.value OR lower(k.name) = lower(m.value))
  GROUP BY ALL
), rivals AS (
  SELECT c.brand_id, c.domain, min(h.competitor_id) AS competitor_id
  FROM cited c
  JOIN mart.competitor_host h ON h.brand_id = c.brand_id AND is_at_host(c.host, h.host)
  GROUP BY c.brand_id, c.domain
), owners AS (
  SELECT c.brand_id, c.domain,
    CASE
      WHEN m.owner IS NOT NULL THEN m.owner
      WHEN m.competitor_id IS NOT NULL THEN 'competitor'
      WHEN is_at_host(c.host, b.host) THEN 'owned'
      WHEN r.competitor_id IS NOT NULL THEN 'competitor'
      ELSE 'unknown'
    END AS owner,
    coalesce(m.competitor_id, r.competitor_id) AS competitor_id
  FROM cited c
  JOIN mart.dim_brand b USING (brand_id)
  LEFT JOIN meant m ON m.brand_id = c.brand_id AND m.domain = c.domain
  LEFT JOIN rivals r ON r.brand_id = c.brand_id AND r.domain = c.domain
)
SELECT
  brand_id,
  domain,
  owner,
  CASE WHEN owner = 'competitor' THEN competitor_id END AS competitor_id
FROM owners
