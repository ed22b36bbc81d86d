-- Change of each prompt's visibility between two periods: one row per current prompt with responses in both (a constant
-- panel), per engine and over all engines. The periods are those of mart.periods. Filter by scope before summing.
-- formula: change = recent_mentions / recent_responses - before_mentions / before_responses.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column text VARCHAR: The text sent to the engines.
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column before_responses BIGINT: Responses in the period before.
-- column before_mentions BIGINT: Responses that mention the brand.
-- column before_visibility DOUBLE: before_mentions / before_responses, from 0 to 1.
-- column recent_responses BIGINT: Responses in the recent period.
-- column recent_mentions BIGINT: Responses that mention the brand.
-- column recent_visibility DOUBLE: recent_mentions / recent_responses, from 0 to 1.
-- column change DOUBLE: recent_visibility - before_visibility, from -1 to 1.
WITH counted AS (
  SELECT
    r.brand_id,
    r.prompt_id,
    r.engine,
    count(*) FILTER (r.day < p.recent_from) AS before_responses,
    count(*) FILTER (r.day < p.recent_from AND r.brand_mentioned) AS before_mentions,
    count(*) FILTER (r.day >= p.recent_from) AS recent_responses,
    count(*) FILTER (r.day >= p.recent_from AND r.brand_mentioned) AS recent_mentions
  FROM mart.fct_response r
  JOIN mart.periods p ON p.brand_id = r.brand_id AND r.day BETWEEN p.before_from AND p.anchor_day
  GROUP BY ALL
), scoped AS (
  SELECT
    brand_id,
    prompt_id,
    if(grouping(engine) = 0, 'engine', 'all engines') AS scope,
    engine,
    CAST(sum(before_responses) AS BIGINT) AS before_responses,
    CAST(sum(before_mentions) AS BIGINT) AS before_mentions,
    CAST(sum(recent_responses) AS BIGINT) AS recent_responses,
    CAST(sum(recent_mentions) AS BIGINT) AS recent_mentions
  FROM counted
  GROUP BY GROUPING SETS ((brand_id, prompt_id, engine), (brand_id, prompt_id))
)
SELECT
  s.brand_id,
  s.prompt_id,
  p.text,
  s.scope,
  s.engine,
  s.before_responses,
  s.before_mentions,
  s.before_mentions / s.before_responses AS before_visibility,
  s.recent_responses,
  s.recent_mentions,
  s.recent_mentions / s.recent_responses AS recent_visibility,
  s.recent_mentions / s.recent_responses - s.before_mentions / s.before_responses AS change
FROM scoped s
JOIN prompts p ON p.brand_id = s.brand_id AND p.id = s.prompt_id AND p._deleted_at IS NULL
WHERE s.before_responses > 0 AND s.recent_responses > 0
