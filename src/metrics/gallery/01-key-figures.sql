-- Did our key figures really change in the last 28 days?
-- Visibility, share of voice, position and sentiment of the last 28 days and of the 28 days before, with the interval
-- of the change. A change is real if its interval excludes zero.
-- tables: mart.brand_changes
-- columns: brand, measure, before_value, recent_value, change, change_lower, change_upper, is_significant,
--   recent_responses
SELECT brand_name AS brand, measure, before_value, recent_value, change, change_lower, change_upper, is_significant,
  recent_responses
FROM mart.brand_changes
ORDER BY is_significant DESC, brand, measure
