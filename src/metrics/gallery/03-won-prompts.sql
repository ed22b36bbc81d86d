-- Which prompts mention us more often than before?
-- Prompts whose visibility rose significantly between the last two periods of 28 days, over all engines. The test is
-- corrected for the number of prompts.
-- tables: mart.prompt_movers
-- columns: brand, prompt, before_visibility, recent_visibility, change, change_lower, change_upper, adjusted_p,
--   recent_responses
SELECT brand_name AS brand, text AS prompt, before_visibility, recent_visibility, change, change_lower, change_upper,
  adjusted_p, recent_responses
FROM mart.prompt_movers
WHERE scope = 'all engines' AND change > 0
ORDER BY change DESC, brand, prompt
LIMIT 200
