-- Newest forum threads that need a decision, which are neither dismissed nor posted to: one row per thread.
-- parameter limit BIGINT 10: Maximum number of rows.
-- column opportunity_id UUID: The thread.
-- column title VARCHAR: Title of the thread.
-- column url VARCHAR: Address of the thread.
-- column subforum VARCHAR: The community.
-- column type VARCHAR: ai if engines cite it, outreach if the brand could join it.
-- column status VARCHAR: Its state.
-- column comments BIGINT: Comments of the thread.
-- column promotion_policy VARCHAR: Whether the community permits promotion; null if its rules were not read yet.
-- column total BIGINT: Threads without the limit.
SELECT opportunity_id, title, url, subforum, type, status, comments, promotion_policy, count(*) OVER () AS total
FROM mart.fct_forum
WHERE brand_id = $brand AND coalesce(status, '') NOT IN ('dismissed', 'posted')
ORDER BY created_at DESC, opportunity_id
LIMIT $limit
