-- Versions of a prompt, newest first: one row per version, and one per deletion. Versions before the first sync are unknown.
-- parameter id UUID: The prompt.
-- column valid_from TIMESTAMPTZ: When a sync first saw the version, or found the prompt missing (UTC).
-- column valid_to TIMESTAMPTZ: End of the version (UTC); null if it is the current one.
-- column change VARCHAR: inserted, updated, restored or deleted.
-- column text VARCHAR: The text sent to the engines.
-- column active BOOLEAN: False while the prompt was paused.
-- column branded BOOLEAN: Whether the prompt named the brand.
-- column funnel_stage VARCHAR: Its funnel stage.
-- column topic VARCHAR: Name of its topic.
-- column tags JSON: Names of its tags.
-- column changed JSON: What differs from the version before: names of columns; none for the first version and for deletions.
WITH versions AS (
  SELECT
    brand_id,
    valid_from,
    valid_to,
    change,
    text,
    active,
    branded,
    funnel_stage,
    topic_name AS topic,
    list_sort(coalesce(CAST(_children->>'$.prompt_tags[*].name' AS VARCHAR[]), CAST([] AS VARCHAR[]))) AS tags
  FROM main.prompts_history WHERE id = $id AND brand_id IN $brands
), compared AS (
  SELECT *, change NOT IN ('inserted', 'deleted') AND lag(valid_from) OVER life IS NOT NULL AS has_previous,
    [
      name_if_changed(text, life),
      name_if_changed(active, life),
      name_if_changed(branded, life),
      name_if_changed(funnel_stage, life),
      name_if_changed(topic, life),
      name_if_changed(tags, life)
    ] AS differences
  FROM versions
  WINDOW life AS (PARTITION BY brand_id ORDER BY valid_from)
)
SELECT valid_from, valid_to, change, text, active, branded, funnel_stage, topic, to_json(tags) AS tags,
  to_json(if(has_previous, list_filter(differences, lambda name: name IS NOT NULL), CAST([] AS VARCHAR[]))) AS changed
FROM compared ORDER BY valid_from DESC
