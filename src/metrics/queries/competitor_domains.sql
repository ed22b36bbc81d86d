-- Domains that the selected responses cite which mention a competitor: one row per domain.
-- parameter competitor_id UUID: The competitor.
-- parameter limit BIGINT 100: Maximum number of rows.
-- column domain VARCHAR: The cited domain.
-- column owner VARCHAR: Owner of the domain; see mart.dim_domain.
-- column is_own BOOLEAN: Whether the domain belongs to this competitor.
-- column responses BIGINT: Responses that cite it and mention the competitor.
-- column mentions BIGINT: All selected responses that mention the competitor.
-- column share DOUBLE: responses / mentions, from 0 to 1.
-- column with_brand BIGINT: Number of these responses that also mention the brand.
WITH rivals AS (
  SELECT DISTINCT response_id FROM main.response_competitors
  WHERE brand_id = $brand AND competitor_id = $competitor_id AND _deleted_at IS NULL
    AND in_days(created_at, $from, $to)
), selected AS (
  SELECT s.response_id, s.brand_mentioned FROM scope s SEMI JOIN rivals USING (response_id)
), cited AS (
  SELECT DISTINCT response_id, domain FROM main.response_citations
  WHERE brand_id = $brand AND _deleted_at IS NULL AND domain IS NOT NULL
    AND in_days(created_at, $from, $to)
), counted AS (
  SELECT c.domain, count(*) AS responses, mention_count(s.brand_mentioned) AS with_brand
  FROM cited c JOIN selected s USING (response_id) GROUP BY c.domain
)
SELECT c.domain, d.owner, coalesce(d.competitor_id = $competitor_id, false) AS is_own, c.responses,
  (SELECT count(*) FROM selected) AS mentions, c.responses / (SELECT count(*) FROM selected) AS share, c.with_brand
FROM counted c LEFT JOIN cited_owners d ON d.brand_id = $brand AND d.domain = c.domain
ORDER BY is_own DESC, c.responses DESC, c.domain
LIMIT $limit
