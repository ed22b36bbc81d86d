-- Forum threads that engines cite or that the brand could join: one row per current thread.
-- key: opportunity_id
-- time: created_at
-- column opportunity_id UUID: The thread, as an opportunity.
-- column brand_id UUID: The brand.
-- column created_at TIMESTAMPTZ: When it was found (UTC).
-- column day DATE: Day of that moment (UTC).
-- column type VARCHAR: ai for a thread that engines cite, outreach for one that the brand could join.
-- column status VARCHAR: Current state.
-- column subforum VARCHAR: The community.
-- column title VARCHAR: Title of the thread.
-- column url VARCHAR: The thread.
-- column upvotes BIGINT: Upvotes.
-- column comments BIGINT: Comments.
-- column ai_content_policy VARCHAR: The community's rule on comments written by AI; null until known.
-- column promotion_policy VARCHAR: The community's rule on mentioning one's own product; null until known.
-- column posted_at TIMESTAMPTZ: When the thread was posted (UTC).
-- column cited_at TIMESTAMPTZ: When an engine cited it (UTC).
SELECT id AS opportunity_id, brand_id, created_at, CAST(make_timestamp(epoch_us(created_at)) AS DATE) AS day,
  type, status, subforum, title, url,
  upvotes, comments, ai_content_policy, promotion_policy, posted_at, cited_at
FROM main.forum_opportunities
WHERE _deleted_at IS NULL AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
