-- Prompts: one row per listed prompt, and per unlisted prompt with responses.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column text VARCHAR: The text sent to the engines.
-- column is_listed BOOLEAN: False for a prompt that upstream no longer lists; its responses still count.
-- column active BOOLEAN: False while the prompt is paused; null if upstream never listed it.
-- column branded BOOLEAN: Whether the prompt names the brand; null if upstream never listed it.
-- column funnel_stage VARCHAR: Funnel stage of the prompt.
-- column topic_id UUID: Its current or last topic.
-- column topic_name VARCHAR: Name of that topic.
-- column created_at TIMESTAMPTZ: When the prompt was added (UTC); null if upstream never listed it.
WITH listed AS (
  SELECT brand_id, id AS prompt_id FROM main.prompts
  WHERE _deleted_at IS NULL AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
), answered AS (
  SELECT DISTINCT brand_id, prompt_id FROM mart.fct_response WHERE prompt_id IS NOT NULL
), gone AS (
  SELECT * FROM answered ANTI JOIN listed USING (brand_id, prompt_id)
), texts AS (
  SELECT r.brand_id, r.prompt_id, arg_max(r.prompt, r.created_at) AS text
  FROM main.responses r SEMI JOIN gone USING (brand_id, prompt_id)
  WHERE r._deleted_at IS NULL GROUP BY r.brand_id, r.prompt_id
), every AS (
  SELECT *, true AS is_listed FROM listed UNION ALL SELECT *, false FROM gone
)
SELECT
  e.brand_id,
  e.prompt_id,
  coalesce(p.text, t.text) AS text,
  e.is_listed,
  p.active,
  p.branded,
  p.funnel_stage,
  p.topic_id,
  p.topic_name,
  p.created_at
FROM every e
LEFT JOIN main.prompts p ON p.brand_id = e.brand_id AND p.id = e.prompt_id
LEFT JOIN texts t ON t.brand_id = e.brand_id AND t.prompt_id = e.prompt_id
