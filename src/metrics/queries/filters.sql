-- Values of the filters of a brand: one row per engine, topic, tag and competitor.
-- column filter VARCHAR: engine, topic, tag or competitor: the name of the parameter.
-- column id VARCHAR: The value of the parameter: engine slug or id.
-- column name VARCHAR: Name to show.
-- column prompts BIGINT: Current prompts of the topic or tag; null for others.
WITH values_of AS (
  SELECT 1 AS place, 'engine' AS filter, e.engine AS id, e.name, CAST(NULL AS BIGINT) AS prompts
  FROM mart.dim_engine e
  WHERE e.engine IN (
    SELECT unnest(CAST(engines AS VARCHAR[])) FROM main.brands WHERE id = $brand
    UNION SELECT engine FROM main.responses WHERE brand_id = $brand AND _deleted_at IS NULL
  )
  UNION ALL
  SELECT if(group_by = 'topic', 2, 3), group_by, group_id, min(name), count(*)
  FROM mart.dim_prompt_group WHERE brand_id = $brand AND group_by IN ('topic', 'tag') GROUP BY group_by, group_id
  UNION ALL
  SELECT 4, 'competitor', CAST(competitor_id AS VARCHAR), name, NULL FROM mart.dim_competitor WHERE brand_id = $brand
)
SELECT filter, id, name, prompts FROM values_of ORDER BY place, name, id
