-- Prompts as they were: one row per version of each prompt. To find what held when an answer came, join by prompt and
-- created_at >= applies_from (or applies_from is null) and created_at < applies_to (or applies_to is null).
-- formula: a version applies until the next one begins; the first one also to the time before the first sync, which
--   nobody has seen.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column valid_from TIMESTAMP: When upstream first showed the prompt so (UTC).
-- column valid_to TIMESTAMP: When it was found changed or gone (UTC); null while it is so.
-- column applies_from TIMESTAMP: First moment of answers that this version applies to (UTC); null for all earlier ones.
-- column applies_to TIMESTAMP: First moment of answers that it no longer applies to (UTC); null for all later ones.
-- column text VARCHAR: What the engines were asked.
-- column active BOOLEAN: False while the prompt was paused.
-- column branded BOOLEAN: Whether the prompt named the brand.
-- column funnel_stage VARCHAR: Stage of the buying funnel that it stood for.
-- column topic_id UUID: The topic it had.
-- column topic_name VARCHAR: Name of that topic.
-- column tags JSON: Its tags, a list of objects with tag_id and name.
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
FROM prompts_history
-- What notes that a prompt was found gone is no version of it.
WHERE change <> 'deleted' AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
WINDOW versions AS (PARTITION BY brand_id, id ORDER BY valid_from)
