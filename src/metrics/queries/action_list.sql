-- Proposed actions of a brand, including actions that the API no longer lists: one row per action.
-- column action_id UUID: The action.
-- column title VARCHAR: Title.
-- column kind VARCHAR: Kind of action.
-- column detail VARCHAR: Detail.
-- column evidence VARCHAR: Evidence.
-- column target_url VARCHAR: The page to act on.
-- column done BOOLEAN: Whether it is done.
-- column mark VARCHAR: done or hidden if a reader marked it; null if not.
-- column done_at TIMESTAMPTZ: When a sync first saw it done (UTC); null if it is open.
-- column recorded_since TIMESTAMPTZ: When a sync first recorded it (UTC).
-- column gone_at TIMESTAMPTZ: Time (UTC) at which a sync found that it is no longer listed; null while it is listed.
-- column prompt_id UUID: The prompt that the plan is for.
-- column prompt VARCHAR: Text of the prompt.
-- column answers BIGINT: Responses to the prompt in the last 14 days, as reported by the API.
-- column lost BIGINT: Responses that competitors won, as reported by the API.
-- column winners JSON: Names of the competitors that won.
-- column generated_at TIMESTAMPTZ: When the plan was generated (UTC).
WITH versions AS (
  SELECT CAST(a.value ->> '$.id' AS UUID) AS id, h.valid_from, coalesce(CAST(a.value ->> '$.done' AS BOOLEAN), false) AS done
  FROM main.action_plans_history h, json_each(h._children, '$.action_plan_actions') a
  WHERE h.brand_id = $brand AND h.change <> 'deleted'
), recorded AS (
  -- A done action that was open again in between is done since the last change.
  SELECT id, min(valid_from) AS recorded_since,
    min(valid_from) FILTER (done AND valid_from > coalesce(last_open, TIMESTAMPTZ '0001-01-01')) AS done_at
  FROM (SELECT *, max(valid_from) FILTER (NOT done) OVER (PARTITION BY id) AS last_open FROM versions)
  GROUP BY id
)
SELECT a.id AS action_id, a.title, a.kind, a.detail, a.evidence, a.target_url, coalesce(a.done, false) AS done, m.value AS mark, r.done_at, r.recorded_since,
  coalesce(a._deleted_at, p._deleted_at) AS gone_at, a.prompt_id, p.prompt, p.answers, p.lost, p.winners, p.generated_at
FROM main.action_plan_actions a
JOIN main.action_plans p ON p.brand_id = a.brand_id AND p.prompt_id = a.prompt_id
LEFT JOIN recorded r ON r.id = a.id
LEFT JOIN mart.marks m ON m.brand_id = a.brand_id AND m.kind = 'action' AND m.id = CAST(a.id AS VARCHAR)
WHERE a.brand_id = $brand
ORDER BY gone_at NULLS FIRST, done, p.lost DESC NULLS LAST, a.prompt_id, a.ordinal, a.id
