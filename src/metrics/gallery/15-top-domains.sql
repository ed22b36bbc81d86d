-- Which domains do engines cite most, and who owns them?
-- Domains cited in the last 28 days with their owner, the responses that cite them, and the engines.
-- tables: mart.fct_citation, mart.dim_domain, mart.dim_brand, mart.periods
-- columns: brand, domain, owner, competitor, citations, responses, engines
WITH cited AS (
  SELECT c.brand_id, c.domain, count(*) AS citations, count(DISTINCT c.response_id) AS responses,
    count(DISTINCT c.engine) AS engines
  FROM mart.fct_citation c
  JOIN mart.periods p ON p.brand_id = c.brand_id AND c.day BETWEEN p.recent_from AND p.anchor_day
  WHERE c.domain IS NOT NULL
  GROUP BY c.brand_id, c.domain
  QUALIFY row_number() OVER (PARTITION BY c.brand_id ORDER BY count(*) DESC, c.domain) <= 100
)
SELECT b.name AS brand, c.domain, d.owner, d.competitor_name AS competitor, c.citations, c.responses, c.engines
FROM cited c
JOIN mart.dim_brand b ON b.brand_id = c.brand_id
LEFT JOIN mart.dim_domain d ON d.brand_id = c.brand_id AND d.domain = c.domain
ORDER BY c.citations DESC, brand, c.domain
LIMIT 100
