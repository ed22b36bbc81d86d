-- How has our visibility developed week by week?
-- Visibility over all engines with its 95 % interval, for the last 26 weeks. The current week is marked as incomplete.
-- tables: mart.visibility_weekly
-- columns: brand, week, responses, visibility, visibility_lower, visibility_upper, is_complete
SELECT brand_name AS brand, week, responses, visibility, visibility_lower, visibility_upper, is_complete
FROM mart.visibility_weekly
WHERE scope = 'all engines'
QUALIFY dense_rank() OVER (PARTITION BY brand_id ORDER BY week DESC) <= 26
ORDER BY brand, week
