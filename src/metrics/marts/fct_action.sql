-- Actions proposed for prompts that competitors win: one row per action of a current plan.
-- column action_id UUID: The action.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt that the plan is for.
-- column generated_at TIMESTAMPTZ: When the plan was generated (UTC).
-- column ordinal BIGINT: Position in the plan, from 0.
-- column kind VARCHAR: Kind of action.
-- column title VARCHAR: Title.
-- column detail VARCHAR: Detail.
-- column evidence VARCHAR: Evidence.
-- column target_url VARCHAR: The page to act on.
-- column done BOOLEAN: Whether it was done.
SELECT a.id AS action_id, a.brand_id, p.prompt_id, p.generated_at, a.ordinal, a.kind, a.title, a.detail, a.evidence,
  a.target_url, a.done
FROM main.action_plan_actions a
JOIN main.action_plans p ON p.brand_id = a.brand_id AND p.prompt_id = a.prompt_id
WHERE a._deleted_at IS NULL AND p._deleted_at IS NULL AND a.brand_id IN (SELECT brand_id FROM mart.dim_brand)
