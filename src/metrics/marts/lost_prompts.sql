-- Prompts that no longer mention the brand: one row per current prompt whose latest responses all lack the brand, if that
-- is unlikely at the earlier rate; per engine and over all engines. Filter by scope before summing.
-- formula: the streak is the responses after the last one that mentions the brand. p_value is the probability that the
--   mentions end at least this early if they fall on the prompt's responses of each engine in random order: the product
--   of C(n - s, m) / C(n, m) over the engines, with n responses, m mentions and s responses in the streak. This is never
--   less than (1 - earlier_visibility) ^ streak_responses for one engine, because it accounts for the uncertainty of the
--   earlier rate. adjusted_p is corrected for the number of prompts of the brand in the scope that some responses mention
--   and others do not (tested), by Benjamini and Hochberg. A prompt is lost if both adjusted_p and
--   (1 - earlier_visibility) ^ streak_responses are at most 0.05. The bounds are Wilson's score interval (95 %).
-- source: Fisher, R. A. (1935), The design of experiments, chapter III (randomization test). Benjamini, Y. and Hochberg,
--   Y. (1995), Controlling the false discovery rate, JRSS B 57:289-300. Wilson, E. B. (1927), JASA 22:209-212.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column text VARCHAR: The text sent to the engines.
-- column active BOOLEAN: False while the prompt is paused; a paused prompt gets no responses that could end the streak.
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column responses BIGINT: All responses.
-- column mentions BIGINT: Responses that mention the brand, all before the streak.
-- column last_mentioned_at TIMESTAMPTZ: The last response that mentions the brand (UTC).
-- column last_answered_at TIMESTAMPTZ: The last response (UTC).
-- column earlier_responses BIGINT: Responses up to the last mention.
-- column earlier_visibility DOUBLE: mentions / earlier_responses, from 0 to 1.
-- column earlier_lower DOUBLE: Lower bound of the earlier visibility.
-- column earlier_upper DOUBLE: Upper bound of the earlier visibility.
-- column streak_responses BIGINT: Responses after the last mention.
-- column streak_days BIGINT: Days from the last mention to the last response.
-- column streak_upper DOUBLE: Upper bound of the visibility since then, which is 0.
-- column p_value DOUBLE: Probability of a streak this long without a change.
-- column adjusted_p DOUBLE: p_value corrected for the number of tests; at most 0.05.
-- column tested BIGINT: Prompts of the brand in the scope (prompts and engines, if scope is engine) that were tested.
WITH counted AS (
  SELECT brand_id, prompt_id, engine, count(*) AS responses, mention_count(brand_mentioned) AS mentions,
    max(created_at) FILTER (brand_mentioned) AS last_mentioned_at, max(created_at) AS last_answered_at
  FROM mart.fct_response WHERE prompt_id IS NOT NULL GROUP BY ALL
), cells AS (
  -- Over all engines, the streak begins after the last mention by any engine.
  SELECT *, 'engine' AS scope FROM counted
  UNION ALL
  SELECT * REPLACE (max(last_mentioned_at) OVER (PARTITION BY brand_id, prompt_id) AS last_mentioned_at), 'all engines'
  FROM counted
), streak AS (
  SELECT c.brand_id, c.prompt_id, c.scope, c.engine, c.responses - c.mentions AS others, c.responses,
    row_number() OVER (PARTITION BY c.brand_id, c.prompt_id, c.scope, c.engine) - 1 AS place
  FROM cells c
  JOIN mart.fct_response r ON r.brand_id = c.brand_id AND r.prompt_id = c.prompt_id AND r.created_at > c.last_mentioned_at
    AND r.engine IS NOT DISTINCT FROM c.engine
), chances AS (
  SELECT brand_id, prompt_id, scope, engine, count(*) AS streak_responses,
    product((others - place) / (responses - place)) AS chance
  FROM streak GROUP BY ALL
), scoped AS (
  SELECT
    c.brand_id,
    c.prompt_id,
    c.scope,
    CASE WHEN c.scope = 'engine' THEN c.engine END AS engine,
    CAST(sum(c.responses) AS BIGINT) AS responses,
    CAST(sum(c.mentions) AS BIGINT) AS mentions,
    max(c.last_mentioned_at) AS last_mentioned_at,
    max(c.last_answered_at) AS last_answered_at,
    CAST(coalesce(sum(s.streak_responses), 0) AS BIGINT) AS streak_responses,
    product(coalesce(s.chance, 1)) AS p_value
  FROM cells c
  LEFT JOIN chances s ON s.brand_id = c.brand_id AND s.prompt_id = c.prompt_id AND s.scope = c.scope
    AND s.engine IS NOT DISTINCT FROM c.engine
  GROUP BY c.brand_id, c.prompt_id, c.scope, CASE WHEN c.scope = 'engine' THEN c.engine END
), tested AS (
  SELECT s.*, p.text, p.active, corrected_scale(s.p_value, s.brand_id, s.scope) AS scaled,
    count(*) OVER (PARTITION BY s.brand_id, s.scope) AS tested
  FROM scoped s
  JOIN main.prompts p ON p.brand_id = s.brand_id AND p.id = s.prompt_id AND p._deleted_at IS NULL
  WHERE s.mentions BETWEEN 1 AND s.responses - 1
), adjusted AS (
  SELECT *, responses - streak_responses AS earlier_responses, mentions / earlier_responses AS rate,
    corrected_p(p_value, scaled, brand_id, scope) AS adjusted_p
  FROM tested
)
SELECT
  brand_id,
  prompt_id,
  text,
  active,
  scope,
  engine,
  responses,
  mentions,
  last_mentioned_at,
  last_answered_at,
  earlier_responses,
  rate AS earlier_visibility,
  greatest(0, wilson_lower(rate, w)) AS earlier_lower,
  least(1, wilson_upper(rate, w)) AS earlier_upper,
  streak_responses,
  CAST(make_timestamp(epoch_us(last_answered_at)) AS DATE)
    - CAST(make_timestamp(epoch_us(last_mentioned_at)) AS DATE) AS streak_days,
  z2 / (streak_responses + z2) AS streak_upper,
  p_value,
  adjusted_p,
  tested
FROM (SELECT *, CAST(3.841458820694124 AS DOUBLE) AS z2, z2 / earlier_responses AS w FROM adjusted)
WHERE adjusted_p <= 0.05 AND (1 - rate) ** streak_responses <= 0.05
