-- Prompts of a brand with their groups, state and most mentioned competitors: one row per current prompt, and per deleted prompt with
-- responses in the range.
-- column prompt_id UUID: The prompt.
-- column text VARCHAR: The text sent to the engines.
-- column state VARCHAR: active, paused, deleted, or unknown if the API never listed the prompt.
-- column topic_id UUID: Its current or last topic.
-- column topic VARCHAR: Name of that topic.
-- column tags JSON: Its current tags: a list of objects with id and name.
-- column branded BOOLEAN: Whether the prompt names the brand.
-- column funnel_stage VARCHAR: Funnel stage of the prompt.
-- column created_at TIMESTAMPTZ: When the prompt was added (UTC).
-- column responses BIGINT: Responses of the range.
-- column responses_per_day DOUBLE: Responses of the range / days of the range. The API reports no search volume.
-- column competitors JSON: The 3 tracked competitors that most responses of the range mention: a list of objects with id, name and responses.
WITH counted AS (
  SELECT prompt_id, count(*) AS responses FROM scope WHERE brand_id = $brand AND prompt_id IS NOT NULL GROUP BY prompt_id
), wanted AS (
  SELECT id AS prompt_id FROM main.prompts
  WHERE brand_id = $brand AND _deleted_at IS NULL
    AND (len($prompts) = 0 OR CAST(id AS VARCHAR) IN (SELECT unnest($prompts)))
    AND (len($topics) = 0 OR CAST(topic_id AS VARCHAR) IN (SELECT unnest($topics)))
    AND (len($tags) = 0 OR id IN (
      SELECT prompt_id FROM mart.dim_prompt_group
      WHERE brand_id = $brand AND group_by = 'tag' AND group_id IN (SELECT unnest($tags))
    ))
    AND ($branded IS NULL OR branded = ($branded = 'branded'))
  UNION
  SELECT prompt_id FROM counted
), last_texts AS (
  SELECT prompt_id, arg_max(prompt, created_at) AS text FROM main.responses
  WHERE brand_id = $brand AND _deleted_at IS NULL
    AND prompt_id IN (SELECT prompt_id FROM counted WHERE prompt_id NOT IN (SELECT id FROM main.prompts WHERE brand_id = $brand))
  GROUP BY prompt_id
), tagged AS (
  SELECT prompt_id, to_json(list({id: group_id, name: name} ORDER BY name, group_id)) AS tags
  FROM mart.dim_prompt_group WHERE brand_id = $brand AND group_by = 'tag' GROUP BY prompt_id
), rivals AS (
  SELECT s.prompt_id, m.competitor_id, count(DISTINCT m.response_id) AS responses
  FROM main.response_competitors m
  JOIN scope s ON s.response_id = m.response_id
  WHERE m.brand_id = $brand AND m._deleted_at IS NULL
    AND in_days(m.created_at, $from, $to)
  GROUP BY s.prompt_id, m.competitor_id
), ranked AS (
  SELECT r.prompt_id, c.competitor_id AS id, c.name, r.responses,
    row_number() OVER (PARTITION BY r.prompt_id ORDER BY r.responses DESC, c.name, c.competitor_id) AS place
  FROM rivals r JOIN mart.dim_competitor c ON c.brand_id = $brand AND c.competitor_id = r.competitor_id
), leaders AS (
  SELECT prompt_id, to_json(list({id: id, name: name, responses: responses} ORDER BY place)) AS competitors
  FROM ranked WHERE place <= 3 GROUP BY prompt_id
)
SELECT
  w.prompt_id,
  coalesce(p.text, l.text) AS text,
  prompt_state(p) AS state,
  p.topic_id,
  coalesce(t.name, p.topic_name) AS topic,
  coalesce(g.tags, to_json([])) AS tags,
  p.branded,
  p.funnel_stage,
  p.created_at,
  coalesce(n.responses, 0) AS responses,
  coalesce(n.responses, 0) / (date_diff('day', $from, $to) + 1) AS responses_per_day,
  coalesce(r.competitors, to_json([])) AS competitors
FROM wanted w
LEFT JOIN main.prompts p ON p.brand_id = $brand AND p.id = w.prompt_id
LEFT JOIN main.topics t ON t.brand_id = $brand AND t.id = p.topic_id AND t._deleted_at IS NULL
LEFT JOIN last_texts l ON l.prompt_id = w.prompt_id
LEFT JOIN tagged g ON g.prompt_id = w.prompt_id
LEFT JOIN counted n ON n.prompt_id = w.prompt_id
LEFT JOIN leaders r ON r.prompt_id = w.prompt_id
ORDER BY text, w.prompt_id
