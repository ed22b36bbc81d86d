-- Which prompts do competitors win most often?
-- Prompts by the number of responses of the last 28 days that mention a competitor but not the brand.
-- tables: mart.fct_response, mart.fct_entity_mention, mart.dim_prompt, mart.dim_brand, mart.periods
-- columns: brand, prompt, topic, responses, won_by_competitors, share, visibility
WITH recent AS (
  SELECT r.brand_id, r.prompt_id, r.response_id, r.brand_mentioned
  FROM mart.fct_response r
  JOIN mart.periods p ON p.brand_id = r.brand_id AND r.day BETWEEN p.recent_from AND p.anchor_day
), rivals AS (
  SELECT DISTINCT m.brand_id, m.response_id
  FROM mart.fct_entity_mention m
  JOIN mart.periods p ON p.brand_id = m.brand_id AND m.day BETWEEN p.recent_from AND p.anchor_day
  WHERE m.entity_type = 'competitor'
)
SELECT b.name AS brand, d.text AS prompt, d.topic_name AS topic, count(*) AS responses,
  count(*) FILTER (NOT r.brand_mentioned AND x.response_id IS NOT NULL) AS won_by_competitors,
  won_by_competitors / responses AS share, mention_count(r.brand_mentioned) / responses AS visibility
FROM recent r
LEFT JOIN rivals x ON x.brand_id = r.brand_id AND x.response_id = r.response_id
JOIN mart.dim_prompt d ON d.brand_id = r.brand_id AND d.prompt_id = r.prompt_id
JOIN mart.dim_brand b ON b.brand_id = r.brand_id
GROUP BY r.brand_id, b.name, r.prompt_id, d.text, d.topic_name
HAVING won_by_competitors > 0
ORDER BY won_by_competitors DESC, brand, prompt
LIMIT 100
