-- Which prompts describe us negatively?
-- Prompts by the number of negative mentions in the last 28 days, with the engines that make them.
-- tables: mart.fct_response, mart.sentiment_label, mart.dim_prompt, mart.dim_brand, mart.periods
-- columns: brand, prompt, mentions, negative, negative_share, engines
SELECT b.name AS brand, d.text AS prompt, count(*) AS mentions, count(*) FILTER (s.lean = 'negative') AS negative,
  negative / mentions AS negative_share,
  string_agg(DISTINCT r.engine, ', ' ORDER BY r.engine) FILTER (s.lean = 'negative') AS engines
FROM mart.fct_response r
JOIN mart.periods p ON p.brand_id = r.brand_id AND r.day BETWEEN p.recent_from AND p.anchor_day
JOIN mart.sentiment_label s ON s.label = r.brand_sentiment
JOIN mart.dim_prompt d ON d.brand_id = r.brand_id AND d.prompt_id = r.prompt_id
JOIN mart.dim_brand b ON b.brand_id = r.brand_id
GROUP BY r.brand_id, b.name, r.prompt_id, d.text
HAVING negative > 0
ORDER BY negative DESC, brand, prompt
LIMIT 100
