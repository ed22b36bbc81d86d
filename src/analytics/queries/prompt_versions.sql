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
      if(text IS DISTINCT FROM lag(text) OVER life, 'text', NULL),
      if(active IS DISTINCT FROM lag(active) OVER life, 'active', NULL),
      if(branded IS DISTINCT FROM lag(branded) OVER life, 'branded', NULL),
      if(funnel_stage IS DISTINCT FROM lag(funnel_stage) OVER life, 'funnel_stage', NULL),
      if(topic IS DISTINCT FROM lag(topic) OVER life, 'topic', NULL),
      if(tags IS DISTINCT FROM lag(tags) OVER life, 'tags', NULL)
    ] AS differences
  FROM versions
  WINDOW life AS (PARTITION BY brand_id ORDER BY valid_from)
)
SELECT valid_from, valid_to, change, text, active, branded, funnel_stage, topic, to_json(tags) AS tags,
  to_json(if(has_previous, list_filter(differences, lambda name: name IS NOT NULL), CAST([] AS VARCHAR[]))) AS changed
FROM compared ORDER BY valid_from DESC
