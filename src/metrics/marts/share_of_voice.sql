-- Share of voice by week: one row per brand, ISO week, engine and entity, and one over all engines; an entity is the
-- brand or a currently tracked competitor. Filter by scope before summing.
-- formula: share_of_voice = mentions / mentions_of_all, visibility = mentions / responses. Both are 0 for an entity
--   without mentions in the week; share_of_voice is null if no entity is mentioned.
-- column brand_id UUID: The brand.
-- column week DATE: Monday of the ISO week (UTC).
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column entity_type VARCHAR: brand or competitor.
-- column competitor_id UUID: The competitor; null for the brand.
-- column name VARCHAR: Name of the brand or competitor.
-- column responses BIGINT: Responses in scope.
-- column mentions BIGINT: Responses that mention the entity.
-- column mentions_of_all BIGINT: Mentions of the brand and all currently tracked competitors.
-- column visibility DOUBLE: mentions / responses, from 0 to 1.
-- column share_of_voice DOUBLE: mentions / mentions_of_all, from 0 to 1; null if no entity is mentioned.
WITH days AS MATERIALIZED (
  SELECT * FROM mart.answers_daily
), weeks AS (
  SELECT brand_id, CAST(date_trunc('week', day) AS DATE) AS week, grouping(engine) AS combined, engine,
    CAST(sum(responses) AS BIGINT) AS responses
  FROM days GROUP BY GROUPING SETS ((brand_id, week, engine), (brand_id, week))
), mentioned AS (
  SELECT brand_id, day, engine, CAST(NULL AS UUID) AS competitor_id, mentions FROM days
  UNION ALL
  SELECT brand_id, day, engine, competitor_id, mentions FROM mart.mentions_daily WHERE entity_type = 'competitor'
), counted AS (
  SELECT brand_id, CAST(date_trunc('week', day) AS DATE) AS week, grouping(engine) AS combined, engine, competitor_id,
    CAST(sum(mentions) AS BIGINT) AS mentions
  FROM mentioned
  GROUP BY GROUPING SETS ((brand_id, week, engine, competitor_id), (brand_id, week, competitor_id))
), entities AS (
  SELECT brand_id, 'brand' AS entity_type, CAST(NULL AS UUID) AS competitor_id, name FROM mart.dim_brand
  UNION ALL
  SELECT brand_id, 'competitor', competitor_id, name FROM mart.dim_competitor
)
SELECT
  w.brand_id,
  w.week,
  if(w.combined = 0, 'engine', 'all engines') AS scope,
  w.engine,
  e.entity_type,
  e.competitor_id,
  e.name,
  w.responses,
  coalesce(c.mentions, 0) AS mentions,
  CAST(sum(coalesce(c.mentions, 0)) OVER cell AS BIGINT) AS mentions_of_all,
  coalesce(c.mentions, 0) / w.responses AS visibility,
  coalesce(c.mentions, 0) / nullif(sum(coalesce(c.mentions, 0)) OVER cell, 0) AS share_of_voice
FROM weeks w
JOIN entities e USING (brand_id)
LEFT JOIN counted c ON c.brand_id = w.brand_id AND c.week = w.week
  AND c.combined = w.combined AND c.engine IS NOT DISTINCT FROM w.engine
  AND c.competitor_id IS NOT DISTINCT FROM e.competitor_id
WINDOW cell AS (PARTITION BY w.brand_id, w.week, w.combined, w.engine)
