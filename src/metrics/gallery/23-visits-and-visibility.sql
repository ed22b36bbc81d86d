-- Do visits from AI assistants follow our visibility?
-- Correlation of weekly visibility with the visits 0 to 3 weeks later. With fewer than about 20 weeks, even 0.4 may be
-- chance.
-- tables: mart.visibility_vs_traffic
-- columns: brand, lag_weeks, weeks, correlation, correlation_by_chance, sessions
SELECT brand_name AS brand, lag_weeks, weeks, correlation, least(1, 1.96 / sqrt(weeks)) AS correlation_by_chance, sessions
FROM mart.visibility_vs_traffic
ORDER BY brand, lag_weeks
