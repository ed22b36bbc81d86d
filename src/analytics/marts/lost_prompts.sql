-- Prompts that no longer mention the brand: one row per current prompt with an earlier response that mentions the brand
-- and a latest response that does not, per engine and over all engines. Filter by scope before summing.
-- formula: the streak is the responses after the last one that mentions the brand.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column text VARCHAR: The text sent to the engines.
-- column active BOOLEAN: False while the prompt is paused; a paused prompt gets no responses that could end the streak.
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column responses BIGINT: All responses.
-- column mentions BIGINT: Responses that mention the brand, all before the streak.
-- column last_mentioned_at TIMESTAMP: The last response that mentions the brand (UTC).
-- column last_answered_at TIMESTAMP: The last response (UTC).
-- column streak_responses BIGINT: Responses after the last mention.
-- column streak_days BIGINT: Days from the last mention to the last response.
WITH counted AS (
  SELECT brand_id, prompt_id, engine, count(*) AS responses, count(*) FILTER (brand_mentioned) AS mentions,
    max(created_at) FILTER (brand_mentioned) AS last_mentioned_at, max(created_at) AS last_answered_at
  FROM mart.fct_response WHERE prompt_id IS NOT NULL GROUP BY ALL
), scoped AS (
  SELECT
    brand_id,
    prompt_id,
    if(grouping(engine) = 0, 'engine', 'all engines') AS scope,
    engine,
    CAST(sum(responses) AS BIGINT) AS responses,
    CAST(sum(mentions) AS BIGINT) AS mentions,
    max(last_mentioned_at) AS last_mentioned_at,
    max(last_answered_at) AS last_answered_at
  FROM counted
  GROUP BY GROUPING SETS ((brand_id, prompt_id, engine), (brand_id, prompt_id))
), lost AS (
  SELECT * FROM scoped WHERE last_answered_at > last_mentioned_at
), streaks AS (
  SELECT l.brand_id, l.prompt_id, l.scope, l.engine, count(*) AS streak_responses
  FROM lost l
  JOIN mart.fct_response r ON r.brand_id = l.brand_id AND r.prompt_id = l.prompt_id AND r.created_at > l.last_mentioned_at
    AND (l.scope = 'all engines' OR r.engine IS NOT DISTINCT FROM l.engine)
  GROUP BY ALL
)
SELECT
  l.brand_id,
  l.prompt_id,
  p.text,
  p.active,
  l.scope,
  l.engine,
  l.responses,
  l.mentions,
  l.last_mentioned_at,
  l.last_answered_at,
  s.streak_responses,
  CAST(l.last_answered_at AS DATE) - CAST(l.last_mentioned_at AS DATE) AS streak_days
FROM lost l
JOIN streaks s ON s.brand_id = l.brand_id AND s.prompt_id = l.prompt_id AND s.scope = l.scope
  AND s.engine IS NOT DISTINCT FROM l.engine
JOIN prompts p ON p.brand_id = l.brand_id AND p.id = l.prompt_id AND p._deleted_at IS NULL
