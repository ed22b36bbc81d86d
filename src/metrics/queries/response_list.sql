-- Responses of a brand, newest first: one row per response of a page.
-- parameter mentioned BOOLEAN null: true for responses that mention the brand, false for the others.
-- parameter search VARCHAR null: Text in the prompt, in the name of a mentioned brand or competitor, in URL, domain or title of a cited
--   page, or in a field that the API does not document. Upper and lower case are equal.
-- parameter after VARCHAR null: The cursor of a row: only rows after it in the direction are returned.
-- parameter direction VARCHAR older older|newer: Whether rows after the cursor are older or newer.
-- parameter limit BIGINT 50: Most rows, at most 200.
-- column response_id UUID: The response.
-- column created_at TIMESTAMPTZ: When the engine responded (UTC).
-- column engine VARCHAR: Engine slug.
-- column prompt_id UUID: The prompt.
-- column prompt VARCHAR: Text of the prompt, as the API sent it with the response.
-- column brand_mentioned BOOLEAN: Whether the response mentions the brand.
-- column brand_position BIGINT: The brand's position among those mentioned; null if it is not mentioned.
-- column brand_sentiment VARCHAR: Sentiment label of the brand's mention.
-- column competitors JSON: The mentioned competitors in order of their positions: a list of objects with id, name and position.
-- column citations BIGINT: Cited pages.
-- column cursor VARCHAR: Position of the row in the list, for the parameter after.
WITH found AS (
  SELECT id AS response_id FROM main.responses
  WHERE $search IS NOT NULL AND brand_id = $brand AND in_days(created_at, $from, $to)
    AND (
      contains(lower(prompt), lower($search)) OR contains(lower(CAST(_extra AS VARCHAR)), lower($search))
      OR brand_mentioned AND contains(lower((SELECT name FROM mart.dim_brand WHERE brand_id = $brand)), lower($search))
    )
  UNION ALL
  SELECT response_id FROM main.response_competitors
  WHERE $search IS NOT NULL AND brand_id = $brand AND in_days(created_at, $from, $to)
    AND (contains(lower(name), lower($search)) OR contains(lower(CAST(_extra AS VARCHAR)), lower($search)))
  UNION ALL
  SELECT response_id FROM main.response_citations
  WHERE $search IS NOT NULL AND brand_id = $brand AND in_days(created_at, $from, $to)
    AND (
      contains(lower(url), lower($search)) OR contains(lower(title), lower($search))
      OR contains(lower(domain), lower($search)) OR contains(lower(CAST(_extra AS VARCHAR)), lower($search))
    )
), place AS (
  SELECT make_timestamptz(TRY_CAST(split_part($after, '_', 1) AS BIGINT)) AS moment, TRY_CAST(split_part($after, '_', 2) AS UUID) AS id
), page AS MATERIALIZED (
  SELECT * FROM scope
  WHERE brand_id = $brand
    AND ($mentioned IS NULL OR brand_mentioned = $mentioned)
    AND ($search IS NULL OR response_id IN (SELECT response_id FROM found))
    AND (
      $after IS NULL
      OR $direction = 'older' AND created_at <= (SELECT moment FROM place)
        AND (created_at < (SELECT moment FROM place) OR response_id < (SELECT id FROM place))
      OR $direction = 'newer' AND created_at >= (SELECT moment FROM place)
        AND (created_at > (SELECT moment FROM place) OR response_id > (SELECT id FROM place))
    )
  -- Without the direction newer, the first two keys are the columns themselves.
  ORDER BY if($direction = 'newer', NULL, created_at) DESC, if($direction = 'newer', NULL, response_id) DESC, created_at, response_id
  LIMIT least($limit, 200)
), named AS (
  SELECT response_id, to_json(list({id: competitor_id, name: name, position: position} ORDER BY position, ordinal)) AS competitors
  FROM main.response_competitors
  WHERE brand_id = $brand AND _deleted_at IS NULL
    AND created_at BETWEEN (SELECT min(created_at) FROM page) AND (SELECT max(created_at) FROM page)
    AND response_id IN (SELECT response_id FROM page)
  GROUP BY response_id
), cited AS (
  SELECT response_id, count(*) AS citations FROM main.response_citations
  WHERE brand_id = $brand AND _deleted_at IS NULL
    AND created_at BETWEEN (SELECT min(created_at) FROM page) AND (SELECT max(created_at) FROM page)
    AND response_id IN (SELECT response_id FROM page)
  GROUP BY response_id
)
SELECT
  p.response_id,
  p.created_at,
  p.engine,
  p.prompt_id,
  r.prompt,
  p.brand_mentioned,
  p.brand_position,
  p.brand_sentiment,
  coalesce(n.competitors, to_json([])) AS competitors,
  coalesce(c.citations, 0) AS citations,
  epoch_us(p.created_at) || '_' || p.response_id AS cursor
FROM page p
JOIN main.responses r ON r.brand_id = $brand AND r.id = p.response_id
  AND r.created_at BETWEEN (SELECT min(created_at) FROM page) AND (SELECT max(created_at) FROM page)
LEFT JOIN named n ON n.response_id = p.response_id
LEFT JOIN cited c ON c.response_id = p.response_id
ORDER BY p.created_at DESC, p.response_id DESC
