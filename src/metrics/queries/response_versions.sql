-- Versions of a response, newest first: one row per version, and one per deletion. A response that never changed has one version.
-- parameter id UUID: The response.
-- column valid_from TIMESTAMPTZ: When the API first sent the version, or a sync found the response missing (UTC).
-- column valid_to TIMESTAMPTZ: End of the version (UTC); null if it is the current one.
-- column change VARCHAR: inserted, updated, restored or deleted.
-- column prompt VARCHAR: Text of the prompt.
-- column engine VARCHAR: Engine slug.
-- column created_at TIMESTAMPTZ: When the engine responded (UTC).
-- column brand_mentioned BOOLEAN: Whether the response mentioned the brand.
-- column brand_position BIGINT: Rank of the brand among the mentioned brands.
-- column brand_sentiment VARCHAR: Sentiment towards the brand.
-- column competitors JSON: The mentioned competitors with position and sentiment, in the order of the API.
-- column citations JSON: The cited pages, in the order of the API.
-- column other JSON: Fields that the API does not document.
-- column changed JSON: What differs from the version before: names of columns; none for the first version and for deletions.
WITH history AS (
  SELECT valid_from, valid_to, change, prompt, engine, created_at, brand_mentioned, brand_position, brand_sentiment, _extra AS other,
    _children->'response_competitors' AS competitors, _children->'response_citations' AS citations
  FROM main.responses_history WHERE id = $id AND brand_id IN $brands
), stored AS (
  -- Rows that never changed have no history.
  SELECT *, unnest(if(_deleted_at IS NULL, ['inserted'], ['inserted', 'deleted'])) AS change
  FROM main.responses
  WHERE id = $id AND brand_id IN $brands AND NOT EXISTS (SELECT 1 FROM history)
), entities AS (
  SELECT to_json(list({competitor_id: competitor_id, name: name, position: position, sentiment: sentiment} ORDER BY ordinal)) AS items
  FROM main.response_competitors
  WHERE response_id = $id AND brand_id IN $brands AND created_at IS NOT DISTINCT FROM (SELECT any_value(created_at) FROM stored)
), pages AS (
  SELECT to_json(list({url: url, domain: domain, title: title, position: position} ORDER BY ordinal)) AS items
  FROM main.response_citations
  WHERE response_id = $id AND brand_id IN $brands AND created_at IS NOT DISTINCT FROM (SELECT any_value(created_at) FROM stored)
), versions AS (
  SELECT * FROM history
  UNION ALL BY NAME
  SELECT if(change = 'deleted', _deleted_at, _synced_at) AS valid_from, _deleted_at AS valid_to, change, prompt, engine, created_at,
    brand_mentioned, brand_position, brand_sentiment, _extra AS other,
    (SELECT items FROM entities) AS competitors, (SELECT items FROM pages) AS citations
  FROM stored
), compared AS (
  SELECT *, change NOT IN ('inserted', 'deleted') AND lag(valid_from) OVER life IS NOT NULL AS has_previous,
    [
      name_if_changed(prompt, life),
      name_if_changed(engine, life),
      name_if_changed(created_at, life),
      name_if_changed(brand_mentioned, life),
      name_if_changed(brand_position, life),
      name_if_changed(brand_sentiment, life),
      name_if_changed(competitors, life),
      name_if_changed(citations, life),
      name_if_changed(other, life)
    ] AS differences
  FROM versions
  WINDOW life AS (ORDER BY valid_from)
)
SELECT valid_from, valid_to, change, prompt, engine, created_at, brand_mentioned, brand_position, brand_sentiment,
  coalesce(competitors, CAST('[]' AS JSON)) AS competitors, coalesce(citations, CAST('[]' AS JSON)) AS citations, other,
  to_json(if(has_previous, list_filter(differences, lambda name: name IS NOT NULL), CAST([] AS VARCHAR[]))) AS changed
FROM compared ORDER BY valid_from DESC, change = 'deleted' DESC
