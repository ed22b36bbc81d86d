SELECT r.response_id, r.brand_id, r.prompt_id, r.engine, r.day,
  coalesce(e.competitor_id, e.brand_id) AS entity_id, e.entity_type, e.competitor_id, e.entity,
  m.response_id IS NOT NULL AS mentioned, m.position,
  l.worth, CASE WHEN l.lean IN ('positive', 'neutral', 'negative') THEN CASE l.lean WHEN 'positive' THEN 1 WHEN 'negative' THEN -1 ELSE 0 END END AS lean, p.place AS first_place, coalesce(v.voices, 0) AS voices
FROM {{ source('marts', 'fct_response') }} r
JOIN (
  SELECT brand_id, 'brand' AS entity_type, CAST(NULL AS UUID) AS competitor_id, name AS entity FROM {{ source('marts', 'dim_brand') }}
  UNION ALL SELECT brand_id, 'competitor', competitor_id, name FROM {{ source('marts', 'dim_competitor') }}
) e ON e.brand_id = r.brand_id
CROSS JOIN (
  SELECT least(1, min(position)) AS place FROM (
    SELECT min(brand_position) AS position FROM {{ source('sightline', 'responses') }} WHERE brand_mentioned AND _deleted_at IS NULL
    UNION ALL
    SELECT min(position) FROM {{ source('sightline', 'response_competitors') }} WHERE _deleted_at IS NULL
  )
) p
LEFT JOIN {{ source('marts', 'fct_entity_mention') }} m ON m.response_id = r.response_id AND m.entity_type = e.entity_type
  AND m.competitor_id IS NOT DISTINCT FROM e.competitor_id
LEFT JOIN {{ source('marts', 'sentiment_label') }} l ON l.label = m.sentiment
LEFT JOIN (
  SELECT response_id, count(*) AS voices FROM {{ source('marts', 'fct_entity_mention') }} GROUP BY response_id
) v ON v.response_id = r.response_id
