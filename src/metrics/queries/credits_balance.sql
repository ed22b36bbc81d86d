-- Balance of the workspace's writing credits: one row per sync that recorded it. No rows if brands of the workspace are not visible.
-- column observed_at TIMESTAMPTZ: When a sync read the balance (UTC).
-- column balance DOUBLE: Writing credits left.
SELECT observed_at, balance FROM main.credits
WHERE _deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM mart.dim_brand WHERE brand_id NOT IN $brands)
ORDER BY observed_at
