-- The pages that a response cites, with their owners and how often other responses cite them: one row per citation.
-- parameter id UUID: The response. It may be deleted.
-- column url VARCHAR: The cited page.
-- column domain VARCHAR: Its domain.
-- column title VARCHAR: Its title.
-- column position BIGINT: The page's position among the citations.
-- column owner VARCHAR: Owner of the domain; see mart.dim_domain.
-- column competitor VARCHAR: Name of the competitor that owns the domain.
-- column other_responses BIGINT: Other responses of the brand, on all days, that cite the page.
-- column other_engines BIGINT: Engines of those responses.
-- column last_cited_at TIMESTAMPTZ: The last of those responses (UTC).
WITH one AS (
  SELECT * FROM main.responses WHERE id = $id AND brand_id IN $brands
), cited AS (
  SELECT c.* FROM main.response_citations c
  WHERE c.response_id = $id AND c.brand_id IN $brands AND c.created_at IS NOT DISTINCT FROM (SELECT created_at FROM one)
    AND (c._deleted_at IS NULL OR (SELECT _deleted_at FROM one) IS NOT NULL)
), others AS (
  SELECT url, count(DISTINCT response_id) AS responses, count(DISTINCT engine) AS engines, max(created_at) AS last_at
  FROM main.response_citations
  WHERE brand_id = (SELECT brand_id FROM one) AND response_id <> $id AND _deleted_at IS NULL AND url IN (SELECT url FROM cited)
  GROUP BY url
), owners AS (
  SELECT d.domain, d.owner, k.name FROM mart.dim_domain d
  LEFT JOIN mart.dim_competitor k ON k.brand_id = d.brand_id AND k.competitor_id = d.competitor_id
  WHERE d.brand_id = (SELECT brand_id FROM one) AND d.domain IN (SELECT domain FROM cited)
)
SELECT c.url, c.domain, c.title, c.position, w.owner, w.name AS competitor, coalesce(o.responses, 0) AS other_responses,
  coalesce(o.engines, 0) AS other_engines, o.last_at AS last_cited_at
FROM cited c
LEFT JOIN others o ON o.url = c.url
LEFT JOIN owners w ON w.domain = c.domain
ORDER BY c.position NULLS LAST, c.ordinal
