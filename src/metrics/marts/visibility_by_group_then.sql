-- Visibility by group of prompts at the time of the responses, by week: one row per brand, ISO week, group and engine,
-- and one over all engines. A prompt counts in each of its tags. Responses of deleted prompts count in their last
-- groups. Filter by scope and group_by before summing.
-- formula: visibility = mentions / responses, over responses joined to dim_prompt_group_history by created_at.
-- column brand_id UUID: The brand.
-- column week DATE: Monday of the ISO week (UTC).
-- column group_by VARCHAR: topic, tag, funnelStage or branded, as in the API's groupBy.
-- column group_id VARCHAR: Topic id, tag id, funnel stage, or branded / non-branded.
-- column name VARCHAR: Last name of the group.
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column prompts BIGINT: Prompts of the group with responses in scope.
-- column responses BIGINT: Responses in scope.
-- column mentions BIGINT: Responses that mention the brand.
-- column visibility DOUBLE: mentions / responses, from 0 to 1.
WITH versions AS MATERIALIZED (
  SELECT row_number() OVER () AS version, brand_id, prompt_id, valid_from, applies_from, applies_to
  FROM mart.dim_prompt_history
), groups AS MATERIALIZED (
  SELECT row_number() OVER () AS number, brand_id, group_by, group_id, arg_max(name, valid_from) AS name
  FROM mart.dim_prompt_group_history GROUP BY brand_id, group_by, group_id
), members AS (
  SELECT v.version, v.prompt_id, n.number
  FROM mart.dim_prompt_group_history g
  JOIN groups n ON n.brand_id = g.brand_id AND n.group_by = g.group_by AND n.group_id = g.group_id
  JOIN versions v ON v.brand_id = g.brand_id AND v.prompt_id = g.prompt_id AND v.valid_from = g.valid_from
), answered AS (
  -- Aggregate by version of the prompt first, which leaves few rows to join with its groups.
  SELECT v.version, CAST(date_trunc('week', r.day) AS DATE) AS week, r.engine, count(*) AS responses,
    mention_count(r.brand_mentioned) AS mentions
  FROM mart.fct_response r
  JOIN versions v ON v.brand_id = r.brand_id AND v.prompt_id = r.prompt_id
    AND (v.applies_from IS NULL OR r.created_at >= v.applies_from)
    AND (v.applies_to IS NULL OR r.created_at < v.applies_to)
  GROUP BY ALL
), counted AS (
  SELECT m.number, a.week, grouping(a.engine) AS combined, a.engine, count(DISTINCT m.prompt_id) AS prompts,
    CAST(sum(a.responses) AS BIGINT) AS responses, CAST(sum(a.mentions) AS BIGINT) AS mentions
  FROM answered a JOIN members m USING (version)
  GROUP BY GROUPING SETS ((m.number, a.week, a.engine), (m.number, a.week))
)
SELECT
  g.brand_id,
  c.week,
  g.group_by,
  g.group_id,
  g.name,
  if(c.combined = 0, 'engine', 'all engines') AS scope,
  c.engine,
  c.prompts,
  c.responses,
  c.mentions,
  c.mentions / c.responses AS visibility
FROM counted c JOIN groups g USING (number)
