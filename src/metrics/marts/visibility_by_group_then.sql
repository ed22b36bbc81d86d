-- Visibility by group of prompts as the groups were when the answers came, by week: one row per brand, ISO week, group and
-- engine, and one over all engines. A prompt counts in each of its tags, and answers of prompts that are gone count where
-- they stood. Filter by scope and group_by before summing.
-- formula: visibility = mentions / responses, over answers joined to dim_prompt_group_history by created_at.
-- column brand_id UUID: The brand.
-- column week DATE: Monday of the ISO week (UTC).
-- column group_by VARCHAR: topic, tag, funnelStage or branded, as the API names what it groups by.
-- column group_id VARCHAR: Topic id, tag id, funnel stage, or branded and non-branded.
-- column name VARCHAR: Name that the group had last.
-- column scope VARCHAR: engine for a row of one engine, all engines for the row over all of them.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column prompts BIGINT: Prompts of the group with answers in scope.
-- column responses BIGINT: Answers in scope.
-- column mentions BIGINT: Those of them that mention the brand.
-- column visibility DOUBLE: mentions / responses, from 0 to 1.
WITH versioned AS (
  -- By version of the prompt first: that leaves few rows to be spread over its groups.
  SELECT v.brand_id, v.prompt_id, v.valid_from, CAST(date_trunc('week', r.day) AS DATE) AS week, r.engine,
    count(*) AS responses, count(*) FILTER (r.brand_mentioned) AS mentions
  FROM mart.fct_response r
  JOIN mart.dim_prompt_history v ON v.brand_id = r.brand_id AND v.prompt_id = r.prompt_id
    AND (v.applies_from IS NULL OR r.created_at >= v.applies_from)
    AND (v.applies_to IS NULL OR r.created_at < v.applies_to)
  GROUP BY ALL
), grouped AS (
  SELECT v.brand_id, v.week, v.engine, g.group_by, g.group_id, v.prompt_id, v.responses, v.mentions
  FROM versioned v
  JOIN mart.dim_prompt_group_history g
    ON g.brand_id = v.brand_id AND g.prompt_id = v.prompt_id AND g.valid_from = v.valid_from
), names AS (
  SELECT brand_id, group_by, group_id, arg_max(name, valid_from) AS name FROM mart.dim_prompt_group_history GROUP BY ALL
)
SELECT
  g.brand_id,
  g.week,
  g.group_by,
  g.group_id,
  any_value(n.name) AS name,
  if(grouping(g.engine) = 0, 'engine', 'all engines') AS scope,
  g.engine,
  count(DISTINCT g.prompt_id) AS prompts,
  CAST(sum(g.responses) AS BIGINT) AS responses,
  CAST(sum(g.mentions) AS BIGINT) AS mentions,
  sum(g.mentions) / sum(g.responses) AS visibility
FROM grouped g
JOIN names n ON n.brand_id = g.brand_id AND n.group_by = g.group_by AND n.group_id = g.group_id
GROUP BY GROUPING SETS (
  (g.brand_id, g.week, g.group_by, g.group_id, g.engine),
  (g.brand_id, g.week, g.group_by, g.group_id)
)
