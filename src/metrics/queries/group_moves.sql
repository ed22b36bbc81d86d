-- Prompts that moved between groups, of any day, newest first: one row per prompt and move. The API reports only current groups.
-- formula: a move is a version of a prompt in mart.dim_prompt_history with other groups than the version before.
-- parameter group_by VARCHAR topic topic|tag|funnelStage|branded: The kind of group.
-- parameter limit BIGINT 500: Maximum number of rows.
-- column prompt_id UUID: The prompt.
-- column prompt VARCHAR: Text of the prompt after the move.
-- column moved_at TIMESTAMPTZ: When a sync first saw the new groups (UTC).
-- column left_groups JSON: Names of the groups that it left.
-- column joined_groups JSON: Names of the groups that it joined.
WITH grouped AS (
  SELECT prompt_id, valid_from, list(group_id ORDER BY group_id) AS ids, list(coalesce(name, group_id) ORDER BY group_id) AS names
  FROM mart.dim_prompt_group_history WHERE brand_id = $brand AND group_by = $group_by GROUP BY prompt_id, valid_from
), versions AS (
  SELECT h.prompt_id, h.text, h.valid_from, coalesce(g.ids, []) AS ids, coalesce(g.names, []) AS names
  FROM mart.dim_prompt_history h LEFT JOIN grouped g USING (prompt_id, valid_from) WHERE h.brand_id = $brand
), compared AS (
  SELECT *, lag(ids) OVER life AS ids_before, lag(names) OVER life AS names_before FROM versions
  WINDOW life AS (PARTITION BY prompt_id ORDER BY valid_from)
)
SELECT prompt_id, text AS prompt, valid_from AS moved_at,
  to_json([names_before[i] FOR i IN range(1, len(ids_before) + 1) IF NOT list_contains(ids, ids_before[i])]) AS left_groups,
  to_json([names[i] FOR i IN range(1, len(ids) + 1) IF NOT list_contains(ids_before, ids[i])]) AS joined_groups
FROM compared WHERE ids_before IS NOT NULL AND ids <> ids_before
ORDER BY moved_at DESC, prompt, prompt_id
LIMIT $limit
