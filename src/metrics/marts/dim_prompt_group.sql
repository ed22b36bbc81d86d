-- Current groups of prompts: one row per current prompt and group.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column group_by VARCHAR: topic, tag, funnelStage or branded, as in the API's groupBy.
-- column group_id VARCHAR: Topic id, tag id, funnel stage, or branded / non-branded.
-- column name VARCHAR: Name of the group; for topics and tags the name in the brand's list, if it has one.
WITH listed AS (
  SELECT * FROM main.prompts WHERE _deleted_at IS NULL AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
), grouped AS (
  SELECT p.brand_id, p.id AS prompt_id, 'topic' AS group_by, CAST(p.topic_id AS VARCHAR) AS group_id,
    coalesce(t.name, p.topic_name) AS name
  FROM listed p
  LEFT JOIN main.topics t ON t.brand_id = p.brand_id AND t.id = p.topic_id AND t._deleted_at IS NULL
  UNION ALL
  SELECT DISTINCT p.brand_id, p.id, 'tag', CAST(g.tag_id AS VARCHAR), coalesce(t.name, g.name)
  FROM listed p
  JOIN main.prompt_tags g ON g.brand_id = p.brand_id AND g.prompt_id = p.id AND g._deleted_at IS NULL
  LEFT JOIN main.tags t ON t.brand_id = g.brand_id AND t.id = g.tag_id AND t._deleted_at IS NULL
  UNION ALL
  SELECT brand_id, id, 'funnelStage', funnel_stage, funnel_stage FROM listed
  UNION ALL
  SELECT brand_id, id, 'branded', if(branded, 'branded', 'non-branded'), if(branded, 'branded', 'non-branded') FROM listed
)
SELECT * FROM grouped WHERE group_id IS NOT NULL
