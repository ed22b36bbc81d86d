-- Correlation of weekly visibility with weekly visits from AI assistants, of all stored complete weeks: one row per lag of 0 to 3 weeks.
-- With fewer than 12 pairs of weeks the interval contains almost any correlation, so there is none.
-- A correlation does not show that one causes the other; both may follow a season.
-- column lag_weeks BIGINT: Weeks from the visibility to the visits.
-- column weeks BIGINT: Pairs of weeks that were compared.
-- column correlation DOUBLE: Pearson's correlation, from -1 to 1, see mart.visibility_vs_traffic; null with fewer than 12 pairs.
-- column correlation_lower DOUBLE: Lower bound of the 95 % interval (Fisher's z); null with fewer than 12 pairs.
-- column correlation_upper DOUBLE: Upper bound of the 95 % interval.
-- column is_clear BOOLEAN: Whether the interval excludes 0; null without an interval.
WITH bounds AS (
  SELECT lag_weeks, weeks, if(weeks >= 12, correlation, NULL) AS r,
    if(abs(r) < 1, atanh(r), NULL) AS z, 1.959964 / sqrt(greatest(weeks - 3, 1)) AS reach
  FROM mart.visibility_vs_traffic WHERE brand_id = $brand
)
SELECT lag_weeks, weeks, r AS correlation,
  (exp(2 * (z - reach)) - 1) / (exp(2 * (z - reach)) + 1) AS correlation_lower,
  (exp(2 * (z + reach)) - 1) / (exp(2 * (z + reach)) + 1) AS correlation_upper,
  abs(z) > reach AS is_clear
FROM bounds ORDER BY lag_weeks
