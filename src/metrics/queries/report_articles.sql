-- Newest articles of a brand: one row per article.
-- parameter limit BIGINT 10: Maximum number of rows.
-- column article_id UUID: The article.
-- column title VARCHAR: Title; null without one.
-- column status VARCHAR: Its state.
-- column word_count BIGINT: Words.
-- column day DATE: Day on which it was created (UTC).
-- column completed DATE: Day on which it was completed (UTC).
-- column total BIGINT: Articles without the limit.
SELECT article_id, title, status, word_count, day, CAST(make_timestamp(epoch_us(completed_at)) AS DATE) AS completed,
  count(*) OVER () AS total
FROM mart.fct_article
WHERE brand_id = $brand
ORDER BY created_at DESC NULLS LAST, article_id
LIMIT $limit
