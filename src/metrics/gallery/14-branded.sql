-- How often are we mentioned when the prompt does not name us?
-- Visibility of branded and non-branded prompts per engine in the last 28 days. Non-branded prompts show how well
-- engines know the brand.
-- tables: mart.fct_response, mart.dim_prompt, mart.dim_brand, mart.periods
-- columns: brand, engine, branded_responses, branded_visibility, non_branded_responses, non_branded_visibility
SELECT b.name AS brand, r.engine,
  count(*) FILTER (d.branded) AS branded_responses,
  mention_count(d.branded AND r.brand_mentioned) / nullif(count(*) FILTER (d.branded), 0) AS branded_visibility,
  count(*) FILTER (NOT d.branded) AS non_branded_responses,
  mention_count(NOT d.branded AND r.brand_mentioned) / nullif(count(*) FILTER (NOT d.branded), 0) AS non_branded_visibility
FROM mart.fct_response r
JOIN mart.periods p ON p.brand_id = r.brand_id AND r.day BETWEEN p.recent_from AND p.anchor_day
JOIN mart.dim_prompt d ON d.brand_id = r.brand_id AND d.prompt_id = r.prompt_id
JOIN mart.dim_brand b ON b.brand_id = r.brand_id
GROUP BY r.brand_id, b.name, r.engine
ORDER BY brand, r.engine
