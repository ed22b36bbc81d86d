-- Prompts that no longer mention the brand, over all stored days and engines: one row per prompt, the least likely streak first.
-- formula: the prompts and their bounds are read from mart.lost_prompts.
-- parameter limit BIGINT 10: Maximum number of rows.
-- column prompt_id UUID: The prompt.
-- column prompt VARCHAR: Text of the prompt.
-- column earlier_visibility DOUBLE: Visibility up to the last mention, from 0 to 1.
-- column earlier_lower DOUBLE: Lower bound of the earlier visibility.
-- column earlier_upper DOUBLE: Upper bound of the earlier visibility.
-- column earlier_responses BIGINT: Responses up to the last mention.
-- column streak_responses BIGINT: Responses since then; none mentions the brand.
-- column streak_upper DOUBLE: Upper bound of the visibility since then.
-- column streak_days BIGINT: Days from the last mention to the last response.
-- column total BIGINT: Prompts without the limit.
SELECT prompt_id, text AS prompt, earlier_visibility, earlier_lower, earlier_upper, earlier_responses, streak_responses,
  streak_upper, streak_days, count(*) OVER () AS total
FROM mart.lost_prompts
WHERE brand_id = $brand AND scope = 'all engines' AND active
ORDER BY adjusted_p, streak_responses DESC, text
LIMIT $limit
