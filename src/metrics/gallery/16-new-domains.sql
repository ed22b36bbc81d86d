-- Which domains are cited for the first time?
-- Domains cited in the last 28 days and never before, with the first day. Without the responses of the 28 days before,
-- every domain would be new, so such brands have no rows.
-- tables: mart.fct_citation, mart.dim_brand, mart.periods
-- columns: brand, domain, first_day, citations, responses, engines
WITH recent AS (
  SELECT c.brand_id, c.domain, min(c.day) AS first_day, count(*) AS citations, count(DISTINCT c.response_id) AS responses,
    count(DISTINCT c.engine) AS engines
  FROM mart.fct_citation c
  JOIN mart.periods p ON p.brand_id = c.brand_id AND c.day BETWEEN p.recent_from AND p.anchor_day
    AND p.before_from IS NOT NULL
  WHERE c.domain IS NOT NULL
  GROUP BY c.brand_id, c.domain
), earlier AS (
  SELECT DISTINCT c.brand_id, c.domain
  FROM mart.fct_citation c
  JOIN mart.periods p ON p.brand_id = c.brand_id AND c.day < p.recent_from
)
SELECT b.name AS brand, r.domain, r.first_day, r.citations, r.responses, r.engines
FROM recent r
ANTI JOIN earlier e ON e.brand_id = r.brand_id AND e.domain = r.domain
JOIN mart.dim_brand b ON b.brand_id = r.brand_id
ORDER BY r.citations DESC, brand, r.domain
LIMIT 100
