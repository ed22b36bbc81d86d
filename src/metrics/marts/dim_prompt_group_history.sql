-- History of the groups of prompts: one row per version of a prompt and group.
-- formula: join a version to responses as described for dim_prompt_history.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column group_by VARCHAR: topic, tag, funnelStage or branded, as in the API's groupBy.
-- column group_id VARCHAR: Topic id, tag id, funnel stage, or branded / non-branded.
-- column name VARCHAR: Name of the group at the time.
-- column valid_from TIMESTAMPTZ: When a sync first saw this version of the prompt (UTC).
-- column valid_to TIMESTAMPTZ: When a sync found the prompt changed or deleted (UTC); null for the current version.
-- column applies_from TIMESTAMPTZ: Start of the responses that this version applies to, inclusive (UTC); null if
--   unbounded.
-- column applies_to TIMESTAMPTZ: End of the responses that this version applies to, exclusive (UTC); null if unbounded.
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
