-- Groups of prompts as they were: one row per version of a prompt and group that it was in.
-- formula: which version applies to an answer is told as for dim_prompt_history.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column group_by VARCHAR: topic, tag, funnelStage or branded, as the API names what it groups by.
-- column group_id VARCHAR: Topic id, tag id, funnel stage, or branded and non-branded.
-- column name VARCHAR: Name of the group as it was.
-- column valid_from TIMESTAMP: When upstream first showed this version of the prompt (UTC).
-- column valid_to TIMESTAMP: When it was found changed or gone (UTC); null while it is so.
-- column applies_from TIMESTAMP: First moment of answers that this version applies to (UTC); null for all earlier ones.
-- column applies_to TIMESTAMP: First moment of answers that it no longer applies to (UTC); null for all later ones.
WITH tagged AS (
  SELECT *, unnest(from_json(tags, '[{"tag_id": "VARCHAR", "name": "VARCHAR"}]')) AS tag FROM mart.dim_prompt_history
), grouped AS (
  SELECT brand_id, prompt_id, 'topic' AS group_by, CAST(topic_id AS VARCHAR) AS group_id, topic_name AS name, valid_from,
    valid_to, applies_from, applies_to
  FROM mart.dim_prompt_history
  UNION ALL
  SELECT DISTINCT brand_id, prompt_id, 'tag', tag.tag_id, tag.name, valid_from, valid_to, applies_from, applies_to
  FROM tagged
  UNION ALL
  SELECT brand_id, prompt_id, 'funnelStage', funnel_stage, funnel_stage, valid_from, valid_to, applies_from, applies_to
  FROM mart.dim_prompt_history
  UNION ALL
  SELECT brand_id, prompt_id, 'branded', if(branded, 'branded', 'non-branded'), if(branded, 'branded', 'non-branded'),
    valid_from, valid_to, applies_from, applies_to
  FROM mart.dim_prompt_history
)
SELECT * FROM grouped WHERE group_id IS NOT NULL
