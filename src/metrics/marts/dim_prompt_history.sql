-- History of prompts: one row per version of each prompt. To find the version for a response, join by prompt and
-- created_at >= applies_from (or applies_from is null) and created_at < applies_to (or applies_to is null).
-- formula: a version applies until the next one begins. The first version also applies to the time before the first
--   sync.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column valid_from TIMESTAMPTZ: When a sync first saw this version of the prompt (UTC).
-- column valid_to TIMESTAMPTZ: When a sync found the prompt changed or deleted (UTC); null for the current version.
-- column applies_from TIMESTAMPTZ: Start of the responses that this version applies to, inclusive (UTC); null if
--   unbounded.
-- column applies_to TIMESTAMPTZ: End of the responses that this version applies to, exclusive (UTC); null if unbounded.
-- column text VARCHAR: The text sent to the engines.
-- column active BOOLEAN: False while the prompt was paused.
-- column branded BOOLEAN: Whether the prompt named the brand.
-- column funnel_stage VARCHAR: Funnel stage of the prompt at the time.
-- column topic_id UUID: The topic it had.
-- column topic_name VARCHAR: Name of that topic.
-- column tags JSON: Its tags: a list of objects with tag_id and name.
SELECT
  brand_id,
  id AS prompt_id,
  valid_from,
  valid_to,
  CASE WHEN lag(valid_from) OVER versions IS NOT NULL THEN valid_from END AS applies_from,
  lead(valid_from) OVER versions AS applies_to,
  text,
  active,
  branded,
  funnel_stage,
  topic_id,
  topic_name,
  _children->'prompt_tags' AS tags
FROM main.prompts_history
-- A deletion record is not a version of the prompt.
WHERE change <> 'deleted' AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
WINDOW versions AS (PARTITION BY brand_id, id ORDER BY valid_from)
