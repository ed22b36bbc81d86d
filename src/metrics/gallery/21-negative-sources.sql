-- Which pages are cited when we are described negatively?
-- Domains cited in the last 28 days by responses with a negative mention of the brand, compared with all responses that
-- mention it.
-- tables: mart.fct_response, mart.fct_citation, mart.sentiment_label, mart.dim_brand, mart.periods
-- columns: brand, domain, negative_responses, mentioning_responses, negative_share
WITH mentioned AS (
  SELECT r.brand_id, r.response_id, s.lean = 'negative' AS is_negative
  FROM mart.fct_response r
  JOIN mart.periods p ON p.brand_id = r.brand_id AND r.day BETWEEN p.recent_from AND p.anchor_day
  JOIN mart.sentiment_label s ON s.label = r.brand_sentiment
), cited AS (
  SELECT DISTINCT c.brand_id, c.response_id, c.domain
  FROM mart.fct_citation c
  JOIN mart.periods p ON p.brand_id = c.brand_id AND c.day BETWEEN p.recent_from AND p.anchor_day
  WHERE c.domain IS NOT NULL
)
SELECT b.name AS brand, c.domain, count(*) FILTER (m.is_negative) AS negative_responses, count(*) AS mentioning_responses,
  negative_responses / mentioning_responses AS negative_share
FROM mentioned m
JOIN cited c ON c.brand_id = m.brand_id AND c.response_id = m.response_id
JOIN mart.dim_brand b ON b.brand_id = m.brand_id
GROUP BY m.brand_id, b.name, c.domain
HAVING negative_responses > 0
ORDER BY negative_responses DESC, brand, c.domain
LIMIT 100
