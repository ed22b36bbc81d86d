-- Prompts with responses that competitors won in the last 14 days, and their open actions: one row per prompt, the most lost first.
-- parameter limit BIGINT 10: Maximum number of rows.
-- column prompt_id UUID: The prompt.
-- column prompt VARCHAR: Text of the prompt.
-- column lost BIGINT: Responses that competitors won.
-- column answers BIGINT: Responses in the 14 days.
-- column winners JSON: Names of the competitors that won responses, as a list.
-- column actions BIGINT: Proposed actions.
-- column open JSON: Titles of the actions that are not done, as a list.
-- column total BIGINT: Prompts without the limit.
SELECT p.prompt_id, p.prompt, p.lost, p.answers, p.winners, p.actions,
  (SELECT to_json(list(a.title ORDER BY a.ordinal)) FROM mart.fct_action a
   WHERE a.brand_id = p.brand_id AND a.prompt_id = p.prompt_id AND NOT coalesce(a.done, false)) AS open,
  count(*) OVER () AS total
FROM mart.fct_action_plan p
WHERE p.brand_id = $brand
ORDER BY p.lost DESC NULLS LAST, p.prompt
LIMIT $limit
