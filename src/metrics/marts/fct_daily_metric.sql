-- Daily numbers as upstream reported them: one row per brand, day, engine and entity, and one per brand, day and entity
-- over all engines. Filter by scope before summing.
-- formula: shares are converted to fractions by upstream's calibrated scale (sync.calibration; percent by default).
--   They keep upstream's rounding.
-- key: brand_id, scope, engine, entity_type, competitor_id, name
-- time: day
-- column brand_id UUID: The brand.
-- column day DATE: The day (UTC).
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column entity_type VARCHAR: brand for the brand itself, another value for a competitor.
-- column competitor_id UUID: The competitor; null for the brand.
-- column name VARCHAR: Name of the brand or competitor.
-- column responses BIGINT: Responses of the day.
-- column mentions BIGINT: Responses that mention the entity.
-- column visibility DOUBLE: Share of responses that mention the entity, from 0 to 1.
-- column share_of_voice DOUBLE: The entity's share of all mentions, from 0 to 1.
-- column avg_position DOUBLE: Mean position of the mentions.
-- column sentiment DOUBLE: Mean sentiment of the mentions, on upstream's scale.
WITH scale AS (
  SELECT
    coalesce(max(TRY_CAST(value->>'whole' AS DOUBLE)) FILTER (name = 'visibility'), 100) AS visibility,
    coalesce(max(TRY_CAST(value->>'whole' AS DOUBLE)) FILTER (name = 'shareOfVoice'), 100) AS share_of_voice
  FROM sync.calibration
)
SELECT
  m.brand_id,
  m.date AS day,
  if(m.row_mode = 'engine', 'engine', 'all engines') AS scope,
  CASE WHEN m.row_mode = 'engine' THEN m.engine END AS engine,
  m.entity_type,
  m.competitor_id,
  m.name,
  m.responses,
  m.mentions,
  m.visibility / s.visibility AS visibility,
  m.share_of_voice / s.share_of_voice AS share_of_voice,
  m.avg_position,
  m.sentiment
FROM main.metrics_daily m CROSS JOIN scale s
WHERE m._deleted_at IS NULL AND m.brand_id IN (SELECT brand_id FROM mart.dim_brand)
