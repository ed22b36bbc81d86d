-- Prompts whose responses competitors won in the last 14 days, as reported by upstream: one row per listed prompt. The
-- actions of a plan are in mart.fct_action.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt.
-- column prompt VARCHAR: Text of the prompt.
-- column answers BIGINT: Responses in the 14 days.
-- column mentioned BIGINT: Responses that mention the brand.
-- column lost BIGINT: Responses that competitors won.
-- column winners JSON: Names of the competitors that won responses, as a list.
-- column summary VARCHAR: Summary of the plan; null until it is generated.
-- column generated_at TIMESTAMPTZ: When the plan was generated (UTC); null until then.
-- column actions BIGINT: Proposed actions.
-- column open_actions BIGINT: Proposed actions that are not done.
SELECT p.brand_id, p.prompt_id, p.prompt, p.answers, p.mentioned, p.lost, p.winners, p.summary, p.generated_at,
  count(a.action_id) AS actions, count(a.action_id) FILTER (NOT coalesce(a.done, false)) AS open_actions
FROM main.action_plans p
LEFT JOIN mart.fct_action a ON a.brand_id = p.brand_id AND a.prompt_id = p.prompt_id
WHERE p._deleted_at IS NULL AND p.brand_id IN (SELECT brand_id FROM mart.dim_brand)
GROUP BY ALL
