-- A prompt with its current groups and state: one row, or none if it is unknown. It may be deleted.
-- parameter id UUID: The prompt.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column text VARCHAR: The text sent to the engines.
-- column state VARCHAR: active, paused, deleted, or unknown if the API never listed the prompt.
-- column topic_id UUID: Its current or last topic.
-- column topic VARCHAR: Name of that topic.
-- column tags JSON: Its tags: a list of objects with id and name.
-- column branded BOOLEAN: Whether the prompt names the brand.
-- column funnel_stage VARCHAR: Funnel stage of the prompt.
-- column created_at TIMESTAMPTZ: When the prompt was added (UTC).
-- column last_checked_at TIMESTAMPTZ: When an engine last responded to it, as the API reports (UTC).
-- column deleted_at TIMESTAMPTZ: When a sync first found it missing in the API (UTC); null if it is listed.
-- column synced_at TIMESTAMPTZ: When the API sent the stored version (UTC).
-- column responses BIGINT: Stored responses of all days.
-- column first_at TIMESTAMPTZ: Time of the first response (UTC).
-- column last_at TIMESTAMPTZ: Time of the last response (UTC).
WITH answered AS (
  SELECT brand_id, prompt_id, arg_max(prompt, created_at) AS text, count(*) AS responses, min(created_at) AS first_at,
    max(created_at) AS last_at
  FROM main.responses WHERE prompt_id = $id AND brand_id IN $brands AND _deleted_at IS NULL GROUP BY brand_id, prompt_id
), listed AS (
  SELECT * FROM main.prompts WHERE id = $id AND brand_id IN $brands
), tagged AS (
  SELECT brand_id, prompt_id, to_json(list({id: tag_id, name: name} ORDER BY name, tag_id)) AS tags
  FROM (
    SELECT DISTINCT g.brand_id, g.prompt_id, g.tag_id, coalesce(t.name, g.name) AS name
    FROM main.prompt_tags g
    JOIN listed p ON p.brand_id = g.brand_id AND p.id = g.prompt_id
    LEFT JOIN main.tags t ON t.brand_id = g.brand_id AND t.id = g.tag_id AND t._deleted_at IS NULL
    WHERE g._deleted_at IS NULL OR p._deleted_at IS NOT NULL
  ) GROUP BY brand_id, prompt_id
)
SELECT
  coalesce(p.brand_id, a.brand_id) AS brand_id,
  coalesce(p.id, a.prompt_id) AS prompt_id,
  coalesce(p.text, a.text) AS text,
  prompt_state(p) AS state,
  p.topic_id,
  coalesce(t.name, p.topic_name) AS topic,
  coalesce(g.tags, to_json([])) AS tags,
  p.branded,
  p.funnel_stage,
  p.created_at,
  p.last_checked_at,
  p._deleted_at AS deleted_at,
  p._synced_at AS synced_at,
  coalesce(a.responses, 0) AS responses,
  a.first_at,
  a.last_at
FROM listed p
FULL JOIN answered a ON a.brand_id = p.brand_id AND a.prompt_id = p.id
LEFT JOIN main.topics t ON t.brand_id = p.brand_id AND t.id = p.topic_id AND t._deleted_at IS NULL
LEFT JOIN tagged g ON g.brand_id = p.brand_id AND g.prompt_id = p.id
