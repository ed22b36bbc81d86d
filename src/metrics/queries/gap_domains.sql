-- Domains that responses cite for tracked competitors and never for the brand: one row per domain that no selected response that
-- mentions the brand cites, and that responses cite which mention a competitor. Domains of the brand are left out.
-- parameter limit BIGINT 10: Maximum number of rows.
-- parameter open BOOLEAN false: Only gaps that no reader marked.
-- column domain VARCHAR: The cited domain.
-- column owner VARCHAR: Owner of the domain; see mart.dim_domain.
-- column mark VARCHAR: done or hidden if a reader marked the gap; null if it is open.
-- column responses BIGINT: Responses that cite it, mention a competitor and do not mention the brand.
-- column responses_of_all BIGINT: Responses that mention a competitor and not the brand.
-- column share DOUBLE: responses / all selected responses that mention a competitor and not the brand, from 0 to 1.
WITH rivals AS (
  SELECT DISTINCT m.response_id FROM main.response_competitors m
  SEMI JOIN mart.dim_competitor c ON c.brand_id = m.brand_id AND c.competitor_id = m.competitor_id
  WHERE m.brand_id = $brand AND m._deleted_at IS NULL
    AND in_days(m.created_at, $from, $to)
), asked AS (
  SELECT response_id, brand_mentioned FROM scope WHERE brand_mentioned
  UNION ALL
  SELECT response_id, false FROM scope SEMI JOIN rivals USING (response_id) WHERE NOT brand_mentioned
), cited AS (
  SELECT DISTINCT response_id, domain FROM main.response_citations
  WHERE brand_id = $brand AND _deleted_at IS NULL AND domain IS NOT NULL
    AND in_days(created_at, $from, $to)
), counted AS (
  SELECT c.domain, count(*) AS responses
  FROM cited c JOIN asked a USING (response_id)
  GROUP BY c.domain
  HAVING NOT bool_or(a.brand_mentioned)
)
SELECT c.domain, d.owner, m.value AS mark, c.responses, (SELECT count(*) FROM asked WHERE NOT brand_mentioned) AS responses_of_all,
  c.responses / (SELECT count(*) FROM asked WHERE NOT brand_mentioned) AS share
FROM counted c
JOIN cited_owners d ON d.brand_id = $brand AND d.domain = c.domain
LEFT JOIN mart.marks m ON m.brand_id = $brand AND m.kind = 'source_gap' AND m.id = c.domain
WHERE d.owner <> 'owned' AND (NOT $open OR m.value IS NULL)
ORDER BY c.responses DESC, c.domain
LIMIT $limit
