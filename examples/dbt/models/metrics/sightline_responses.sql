SELECT r.response_id, r.brand_id, r.prompt_id, r.engine, r.day,
  r.brand_mentioned AS mentioned, r.brand_position AS position,
  l.worth, CASE WHEN l.lean IN ('positive', 'neutral', 'negative') THEN CASE l.lean WHEN 'positive' THEN 1 WHEN 'negative' THEN -1 ELSE 0 END END AS lean, p.place AS first_place,
  coalesce(v.voices, 0) AS voices, b.host IS NOT NULL AS has_host,
  coalesce(c.citations, 0) AS citations, coalesce(c.named_citations, 0) AS named_citations,
  coalesce(c.own_citations, 0) AS own_citations
FROM {{ source('marts', 'fct_response') }} r
JOIN {{ source('marts', 'dim_brand') }} b ON b.brand_id = r.brand_id
CROSS JOIN (
  SELECT least(1, min(position)) AS place FROM (
    SELECT min(brand_position) AS position FROM {{ source('sightline', 'responses') }} WHERE brand_mentioned AND _deleted_at IS NULL
    UNION ALL
    SELECT min(position) FROM {{ source('sightline', 'response_competitors') }} WHERE _deleted_at IS NULL
  )
) p
LEFT JOIN {{ source('marts', 'sentiment_label') }} l ON l.label = r.brand_sentiment
LEFT JOIN (
  SELECT response_id, count(*) AS voices FROM {{ source('marts', 'fct_entity_mention') }} GROUP BY response_id
) v ON v.response_id = r.response_id
LEFT JOIN (
  SELECT c.response_id, count(*) AS citations, count(c.domain) AS named_citations,
    count(*) FILTER (d.owner = 'owned') AS own_citations
  FROM {{ source('marts', 'fct_citation') }} c
  LEFT JOIN {{ source('marts', 'dim_domain') }} d ON d.brand_id = c.brand_id AND d.domain = c.domain
  GROUP BY c.response_id
) c ON c.response_id = r.response_id
