-- Mention counts by day: one row per brand, day, engine and mentioned entity: the brand or a currently tracked
-- competitor.
-- formula: a response that lists a competitor twice counts as one mention.
-- column brand_id UUID: The brand.
-- column day DATE: The day (UTC).
-- column engine VARCHAR: Engine slug.
-- column entity_type VARCHAR: brand or competitor.
-- column competitor_id UUID: The competitor; null for the brand.
-- column mentions BIGINT: Responses that mention the entity.
WITH rivals AS (
  SELECT brand_id, CAST(make_timestamp(epoch_us(created_at)) AS DATE) AS day, engine, competitor_id, count(*) AS mentions
  FROM main.response_competitors
  WHERE _deleted_at IS NULL AND created_at IS NOT NULL
    AND NOT EXISTS (FROM sync.shapes WHERE resource = 'responses' AND name = 'repeats in competitors')
  GROUP BY ALL
  UNION ALL
  SELECT brand_id, CAST(make_timestamp(epoch_us(created_at)) AS DATE), engine, competitor_id, count(DISTINCT response_id)
  FROM main.response_competitors
  WHERE _deleted_at IS NULL AND created_at IS NOT NULL
    AND EXISTS (FROM sync.shapes WHERE resource = 'responses' AND name = 'repeats in competitors')
  GROUP BY ALL
)
SELECT brand_id, day, engine, 'brand' AS entity_type, CAST(NULL AS UUID) AS competitor_id, mentions
FROM mart.answers_daily WHERE mentions > 0
UNION ALL
SELECT brand_id, day, engine, 'competitor', competitor_id, mentions
FROM rivals SEMI JOIN mart.dim_competitor USING (brand_id, competitor_id)
