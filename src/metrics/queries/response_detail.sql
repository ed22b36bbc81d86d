-- A response as it is stored: one row, or none if it is unknown. It may be deleted.
-- parameter id UUID: The response.
-- column response_id UUID: The response.
-- column brand_id UUID: The brand.
-- column brand VARCHAR: Name of the brand.
-- column prompt_id UUID: The prompt.
-- column prompt VARCHAR: Text of the prompt, as the API sent it with the response.
-- column engine VARCHAR: Engine slug.
-- column created_at TIMESTAMPTZ: When the engine responded (UTC).
-- column brand_mentioned BOOLEAN: Whether the response mentions the brand.
-- column synced_at TIMESTAMPTZ: When the API sent the stored version (UTC).
-- column deleted_at TIMESTAMPTZ: When a sync first found the response missing in the API (UTC); null if it is listed.
-- column run_id UUID: The sync run that wrote the stored version.
-- column run_started_at TIMESTAMPTZ: When that run began (UTC); null if its record is no longer kept.
-- column topic_then VARCHAR: Topic of the prompt at the time of the response.
-- column topic_now VARCHAR: Current topic of the prompt.
-- column tags_then JSON: Names of its tags at the time of the response.
-- column tags_now JSON: Names of its current tags.
-- column cursor VARCHAR: Position of the response in response_list.
-- item responses response_id: The response as /v1 serves it.
WITH one AS (
  SELECT * FROM main.responses WHERE id = $id AND brand_id IN $brands
), groups_then AS (
  SELECT h.group_by, h.group_id, h.name
  FROM mart.dim_prompt_group_history h
  JOIN one o ON o.brand_id = h.brand_id AND o.prompt_id = h.prompt_id
    AND (h.applies_from IS NULL OR o.created_at >= h.applies_from) AND (h.applies_to IS NULL OR o.created_at < h.applies_to)
), groups_now AS (
  SELECT g.group_by, g.group_id, g.name
  FROM mart.dim_prompt_group g JOIN one o ON o.brand_id = g.brand_id AND o.prompt_id = g.prompt_id
)
SELECT
  o.id AS response_id,
  o.brand_id,
  b.name AS brand,
  o.prompt_id,
  o.prompt,
  o.engine,
  o.created_at,
  o.brand_mentioned,
  o._synced_at AS synced_at,
  o._deleted_at AS deleted_at,
  o._run_id AS run_id,
  r.started_at AS run_started_at,
  (SELECT any_value(name) FROM groups_then WHERE group_by = 'topic') AS topic_then,
  (SELECT any_value(name) FROM groups_now WHERE group_by = 'topic') AS topic_now,
  to_json(coalesce((SELECT list(name ORDER BY name) FROM groups_then WHERE group_by = 'tag'), CAST([] AS VARCHAR[]))) AS tags_then,
  to_json(coalesce((SELECT list(name ORDER BY name) FROM groups_now WHERE group_by = 'tag'), CAST([] AS VARCHAR[]))) AS tags_now,
  epoch_us(o.created_at) || '_' || o.id AS cursor
FROM one o
LEFT JOIN main.brands b ON b.id = o.brand_id
LEFT JOIN sync.runs r ON r.run_id = o._run_id
