-- Which proposed actions are still open where competitors win?
-- Open actions of the current plans, for the prompts that competitors won most often.
-- tables: mart.fct_action_plan, mart.fct_action, mart.dim_brand
-- columns: brand, prompt, lost_responses, kind, action, target_url, generated_at
SELECT b.name AS brand, p.prompt, p.lost AS lost_responses, a.kind, a.title AS action, a.target_url, a.generated_at
FROM mart.fct_action_plan p
JOIN mart.fct_action a ON a.brand_id = p.brand_id AND a.prompt_id = p.prompt_id
JOIN mart.dim_brand b ON b.brand_id = p.brand_id
WHERE NOT coalesce(a.done, false)
ORDER BY p.lost DESC NULLS LAST, brand, p.prompt, a.ordinal
LIMIT 200
