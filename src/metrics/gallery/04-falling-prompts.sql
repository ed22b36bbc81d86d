-- Which prompts mention us less often than before, and on which engine?
-- Prompts whose visibility fell significantly between the last two periods of 28 days, per engine and over all engines
-- (engine is then null).
-- tables: mart.prompt_movers
-- columns: brand, prompt, engine, before_visibility, recent_visibility, change, change_lower, change_upper,
--   adjusted_p, recent_responses
SELECT brand_name AS brand, text AS prompt, engine, before_visibility, recent_visibility, change, change_lower,
  change_upper, adjusted_p, recent_responses
FROM mart.prompt_movers
WHERE change < 0
ORDER BY change, brand, prompt, engine
LIMIT 200
