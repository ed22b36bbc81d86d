-- Who is named before us?
-- Responses of the last 28 days that mention both the brand and a competitor: how often the competitor comes first.
-- tables: mart.fct_response, mart.fct_entity_mention, mart.dim_brand, mart.dim_competitor, mart.periods
-- columns: brand, competitor, shared_responses, competitor_first, competitor_first_share
WITH ours AS (
  SELECT r.brand_id, r.response_id, r.brand_position
  FROM mart.fct_response r
  JOIN mart.periods p ON p.brand_id = r.brand_id AND r.day BETWEEN p.recent_from AND p.anchor_day
  WHERE r.brand_position IS NOT NULL
), recent AS (
  SELECT m.brand_id, m.response_id, m.competitor_id, m.position
  FROM mart.fct_entity_mention m
  JOIN mart.periods p ON p.brand_id = m.brand_id AND m.day BETWEEN p.recent_from AND p.anchor_day
  WHERE m.entity_type = 'competitor' AND m.position IS NOT NULL
)
SELECT b.name AS brand, c.name AS competitor, count(*) AS shared_responses,
  count(*) FILTER (m.position < o.brand_position) AS competitor_first,
  competitor_first / shared_responses AS competitor_first_share
FROM ours o
JOIN recent m ON m.brand_id = o.brand_id AND m.response_id = o.response_id
JOIN mart.dim_competitor c ON c.brand_id = m.brand_id AND c.competitor_id = m.competitor_id
JOIN mart.dim_brand b ON b.brand_id = o.brand_id
GROUP BY ALL
ORDER BY competitor_first DESC, brand, competitor
