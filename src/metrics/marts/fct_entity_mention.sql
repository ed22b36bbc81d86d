-- Mentions of the brand and of the currently tracked competitors: one row per response and entity that it mentions.
-- formula: a response that lists a competitor twice counts as one mention, with its first position.
-- key: response_id, brand_id, entity_type, competitor_id
-- time: created_at
-- column response_id UUID: The response.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt that was asked.
-- column engine VARCHAR: Engine slug.
-- column created_at TIMESTAMPTZ: When the engine responded (UTC).
-- column day DATE: Day of the response (UTC).
-- column entity_type VARCHAR: brand or competitor.
-- column competitor_id UUID: The competitor; null for the brand.
-- column position BIGINT: The entity's position among those mentioned.
-- column sentiment VARCHAR: Sentiment label of the mention.
SELECT response_id, brand_id, prompt_id, engine, created_at, day, 'brand' AS entity_type,
  CAST(NULL AS UUID) AS competitor_id, brand_position AS position, brand_sentiment AS sentiment
FROM mart.fct_response WHERE brand_mentioned
UNION ALL
SELECT m.response_id, m.brand_id, m.prompt_id, m.engine, m.created_at, CAST(make_timestamp(epoch_us(m.created_at)) AS DATE),
  'competitor',
  m.competitor_id, m.position, m.sentiment
FROM main.response_competitors m
SEMI JOIN mart.dim_competitor c ON c.brand_id = m.brand_id AND c.competitor_id = m.competitor_id
WHERE m._deleted_at IS NULL AND m.created_at IS NOT NULL
  AND NOT EXISTS (FROM sync.shapes WHERE resource = 'responses' AND name = 'repeats in competitors')
UNION ALL
-- Deduplicate only if upstream has ever listed a competitor twice, because that costs many times as much as counting.
(SELECT DISTINCT ON (m.brand_id, m.response_id, m.competitor_id) m.response_id, m.brand_id, m.prompt_id, m.engine, m.created_at,
  CAST(make_timestamp(epoch_us(m.created_at)) AS DATE), 'competitor', m.competitor_id, m.position, m.sentiment
FROM main.response_competitors m
SEMI JOIN mart.dim_competitor c ON c.brand_id = m.brand_id AND c.competitor_id = m.competitor_id
WHERE m._deleted_at IS NULL AND m.created_at IS NOT NULL
  AND EXISTS (FROM sync.shapes WHERE resource = 'responses' AND name = 'repeats in competitors')
ORDER BY m.brand_id, m.response_id, m.competitor_id, m.ordinal)
