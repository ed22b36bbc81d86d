-- The brand and the competitors that a response mentions, in order of their positions: one row per mention.
-- parameter id UUID: The response. It may be deleted.
-- column entity_type VARCHAR: brand or competitor.
-- column competitor_id UUID: The competitor; null for the brand.
-- column entity VARCHAR: Name of the brand or competitor, as the API sent it with the response.
-- column position BIGINT: The position among those mentioned.
-- column sentiment VARCHAR: Sentiment label of the mention.
-- column is_tracked BOOLEAN: Whether the competitor is tracked now. Measures count only tracked competitors.
WITH one AS (
  SELECT * FROM main.responses WHERE id = $id AND brand_id IN $brands
), mentions AS (
  SELECT 'brand' AS entity_type, CAST(NULL AS UUID) AS competitor_id, b.name AS entity, o.brand_position AS position,
    o.brand_sentiment AS sentiment, true AS is_tracked, -1 AS ordinal
  FROM one o LEFT JOIN main.brands b ON b.id = o.brand_id WHERE o.brand_mentioned
  UNION ALL
  SELECT 'competitor', m.competitor_id, coalesce(m.name, c.name), m.position, m.sentiment, c.competitor_id IS NOT NULL, m.ordinal
  FROM main.response_competitors m
  LEFT JOIN mart.dim_competitor c ON c.brand_id = m.brand_id AND c.competitor_id = m.competitor_id
  WHERE m.response_id = $id AND m.brand_id IN $brands AND m.created_at IS NOT DISTINCT FROM (SELECT created_at FROM one)
    AND (m._deleted_at IS NULL OR (SELECT _deleted_at FROM one) IS NOT NULL)
)
SELECT entity_type, competitor_id, entity, position, sentiment, is_tracked
FROM mentions ORDER BY position NULLS LAST, ordinal
