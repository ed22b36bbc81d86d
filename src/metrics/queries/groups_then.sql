-- Groups of prompts now and at the time of the responses: one row per group that has prompts now, or had responses of the range then.
-- formula: now: responses joined to mart.dim_prompt_group, as the API counts; then: joined to mart.dim_prompt_group_history by time. The
--   bounds are Wilson's score interval (95 %).
-- parameter group_by VARCHAR topic topic|tag|funnelStage|branded: The kind of group.
-- column group_id VARCHAR: Topic id, tag id, funnel stage, or branded / non-branded.
-- column name VARCHAR: Current or last name of the group.
-- column is_current BOOLEAN: Whether a current prompt belongs to it.
-- column prompts BIGINT: Current prompts.
-- column active_prompts BIGINT: Current prompts that are not paused.
-- column responses BIGINT: Responses by the current groups.
-- column visibility DOUBLE: Share of them that mention the brand.
-- column visibility_lower DOUBLE: Lower bound.
-- column visibility_upper DOUBLE: Upper bound.
-- column prompts_then BIGINT: Prompts with responses while they were in the group.
-- column responses_then BIGINT: Responses by the groups at the time of the response.
-- column visibility_then DOUBLE: Share of them that mention the brand.
-- column then_lower DOUBLE: Lower bound.
-- column then_upper DOUBLE: Upper bound.
WITH current_groups AS (
  SELECT g.group_id, any_value(g.name) AS name, count(DISTINCT g.prompt_id) AS prompts,
    count(DISTINCT g.prompt_id) FILTER (p.active IS DISTINCT FROM false) AS active_prompts
  FROM mart.dim_prompt_group g JOIN main.prompts p ON p.brand_id = g.brand_id AND p.id = g.prompt_id AND p._deleted_at IS NULL
  WHERE g.brand_id = $brand AND g.group_by = $group_by GROUP BY g.group_id
), now_counted AS (
  SELECT g.group_id, CAST(sum(a.responses) AS BIGINT) AS responses, CAST(sum(a.mentions) AS BIGINT) AS mentions
  FROM (SELECT prompt_id, count(*) AS responses, mention_count(brand_mentioned) AS mentions FROM scope GROUP BY prompt_id) a
  JOIN mart.dim_prompt_group g ON g.brand_id = $brand AND g.prompt_id = a.prompt_id AND g.group_by = $group_by
  GROUP BY g.group_id
), versions AS (
  SELECT * FROM mart.dim_prompt_history WHERE brand_id = $brand
), answered AS (
  SELECT v.prompt_id, v.valid_from, count(*) AS responses, mention_count(r.brand_mentioned) AS mentions
  FROM scope r JOIN versions v ON v.prompt_id = r.prompt_id
    AND (v.applies_from IS NULL OR r.created_at >= v.applies_from) AND (v.applies_to IS NULL OR r.created_at < v.applies_to)
  GROUP BY v.prompt_id, v.valid_from
), then_counted AS (
  SELECT h.group_id, arg_max(h.name, h.valid_from) AS name, count(DISTINCT a.prompt_id) AS prompts,
    CAST(sum(a.responses) AS BIGINT) AS responses, CAST(sum(a.mentions) AS BIGINT) AS mentions
  FROM answered a JOIN mart.dim_prompt_group_history h ON h.brand_id = $brand AND h.group_by = $group_by AND h.prompt_id = a.prompt_id
    AND h.valid_from = a.valid_from
  GROUP BY h.group_id
), joined AS (
  SELECT coalesce(c.group_id, t.group_id) AS group_id, coalesce(c.name, t.name) AS name, c.group_id IS NOT NULL AS is_current,
    coalesce(c.prompts, 0) AS prompts, coalesce(c.active_prompts, 0) AS active_prompts,
    coalesce(n.responses, 0) AS responses, n.mentions / nullif(n.responses, 0) AS a, wilson_weight(n.responses) AS w,
    coalesce(t.prompts, 0) AS prompts_then, coalesce(t.responses, 0) AS responses_then,
    t.mentions / nullif(t.responses, 0) AS b, wilson_weight(t.responses) AS v
  FROM current_groups c
  LEFT JOIN now_counted n ON n.group_id = c.group_id
  FULL JOIN then_counted t ON t.group_id = c.group_id
)
SELECT group_id, name, is_current, prompts, active_prompts, responses, a AS visibility,
  wilson_lower(a, w) AS visibility_lower,
  wilson_upper(a, w) AS visibility_upper,
  prompts_then, responses_then, b AS visibility_then,
  wilson_lower(b, v) AS then_lower,
  wilson_upper(b, v) AS then_upper
FROM joined ORDER BY is_current DESC, responses DESC, name, group_id
