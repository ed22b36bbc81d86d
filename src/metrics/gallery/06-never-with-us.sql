-- Which domains name competitors but never us?
-- Domains cited in at least 3 responses of the last 28 days that mention a competitor, and in none that mentions the
-- brand.
-- tables: mart.source_gaps
-- columns: brand, domain, owner, engines, gap_responses, share
SELECT g.brand_name AS brand, g.domain, g.owner,
  (SELECT count(*) FROM mart.source_gaps e WHERE e.scope = 'engine' AND e.brand_id = g.brand_id AND e.domain = g.domain) AS engines,
  g.gap_responses, g.share
FROM mart.source_gaps g
WHERE g.scope = 'all engines' AND g.mentioning_responses = 0 AND g.gap_responses >= 3
ORDER BY g.gap_responses DESC, brand, domain
LIMIT 100
