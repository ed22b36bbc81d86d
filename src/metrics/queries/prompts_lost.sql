-- Prompts that no longer mention the brand, and the competitors that their responses mention since: one row per prompt, or per prompt
-- and engine if engines are selected. All stored days count.
-- formula: the prompts and their p values are read from mart.lost_prompts.
-- column prompt_id UUID: The prompt.
-- column prompt VARCHAR: Text of the prompt.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column earlier_visibility DOUBLE: Visibility up to the last mention, from 0 to 1.
-- column earlier_lower DOUBLE: Lower bound of the earlier visibility.
-- column earlier_upper DOUBLE: Upper bound of the earlier visibility.
-- column earlier_responses BIGINT: Responses up to the last mention.
-- column last_mentioned_at TIMESTAMPTZ: The last response that mentions the brand (UTC).
-- column streak_responses BIGINT: Responses since then; none mentions the brand.
-- column streak_days BIGINT: Days from the last mention to the last response.
-- column adjusted_p DOUBLE: Probability of such a streak without a change, corrected for the number of prompts.
-- column lost_to JSON: The three tracked competitors that most of these responses mention: a list of objects with id, name and mentions.
WITH lost AS MATERIALIZED (
  SELECT * FROM mart.lost_prompts
  WHERE brand_id = $brand AND CASE WHEN len($engines) = 0 THEN scope = 'all engines' ELSE list_contains($engines, engine) END
), since AS (
  SELECT l.prompt_id, l.engine, r.response_id FROM lost l
  JOIN mart.fct_response r ON r.brand_id = $brand AND r.prompt_id = l.prompt_id AND r.created_at > l.last_mentioned_at
    AND (l.engine IS NULL OR r.engine = l.engine)
), counted AS (
  SELECT s.prompt_id, s.engine, m.competitor_id, count(DISTINCT s.response_id) AS mentions
  FROM since s JOIN main.response_competitors m ON m.response_id = s.response_id
  WHERE m.brand_id = $brand AND m._deleted_at IS NULL GROUP BY ALL
), rivals AS (
  SELECT n.prompt_id, n.engine,
    list({'id': n.competitor_id, 'name': c.name, 'mentions': n.mentions} ORDER BY n.mentions DESC, c.name)[1:3] AS lost_to
  FROM counted n JOIN mart.dim_competitor c ON c.brand_id = $brand AND c.competitor_id = n.competitor_id
  GROUP BY n.prompt_id, n.engine
)
SELECT l.prompt_id, l.text AS prompt, l.engine, l.earlier_visibility, l.earlier_lower, l.earlier_upper, l.earlier_responses,
  l.last_mentioned_at, l.streak_responses, l.streak_days, l.adjusted_p, to_json(coalesce(r.lost_to, [])) AS lost_to
FROM lost l LEFT JOIN rivals r ON r.prompt_id = l.prompt_id AND r.engine IS NOT DISTINCT FROM l.engine
ORDER BY l.earlier_visibility DESC, l.adjusted_p, l.prompt_id, l.engine
