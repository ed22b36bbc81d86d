-- Which prompts did we lose in the last 28 days, and to whom?
-- Prompts that no longer mention the brand, with the competitor that the responses since then mention most. Streaks
-- that chance explains are left out.
-- tables: mart.lost_prompts, mart.periods, mart.fct_entity_mention, mart.dim_competitor
-- columns: brand, prompt, last_mentioned_at, streak_responses, earlier_visibility, adjusted_p, competitor,
--   competitor_mentions
WITH lost AS (
  SELECT l.* FROM mart.lost_prompts l
  JOIN mart.periods p ON p.brand_id = l.brand_id AND CAST(l.last_mentioned_at AS DATE) BETWEEN coalesce(p.before_from, p.recent_from) AND p.anchor_day
  WHERE l.scope = 'all engines'
), winners AS (
  SELECT l.brand_id, l.prompt_id, c.name AS competitor, count(*) AS mentions
  FROM lost l
  JOIN mart.fct_entity_mention m ON m.brand_id = l.brand_id AND m.prompt_id = l.prompt_id
    AND m.created_at > l.last_mentioned_at AND m.entity_type = 'competitor'
  JOIN mart.dim_competitor c ON c.brand_id = m.brand_id AND c.competitor_id = m.competitor_id
  GROUP BY l.brand_id, l.prompt_id, c.name
  QUALIFY row_number() OVER (PARTITION BY l.brand_id, l.prompt_id ORDER BY count(*) DESC, c.name) = 1
)
SELECT l.brand_name AS brand, l.text AS prompt, l.last_mentioned_at, l.streak_responses, l.earlier_visibility, l.adjusted_p,
  w.competitor, w.mentions AS competitor_mentions
FROM lost l LEFT JOIN winners w ON w.brand_id = l.brand_id AND w.prompt_id = l.prompt_id
ORDER BY l.streak_responses DESC, brand, prompt
LIMIT 200
