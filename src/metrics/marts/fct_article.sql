-- Articles that the service wrote: one row per current article.
-- key: article_id
-- time: created_at
-- column article_id UUID: The article.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt for which it was written.
-- column created_at TIMESTAMPTZ: When it was ordered (UTC).
-- column day DATE: Day of that moment (UTC).
-- column completed_at TIMESTAMPTZ: When it was finished (UTC); null until then.
-- column status VARCHAR: Current state.
-- column type VARCHAR: Type.
-- column quality VARCHAR: Quality.
-- column format VARCHAR: Format.
-- column topic VARCHAR: Topic.
-- column title VARCHAR: Title.
-- column slug VARCHAR: Slug.
-- column word_count BIGINT: Number of words.
-- column credits_charged BIGINT: Writing credits charged.
SELECT id AS article_id, brand_id, prompt_id, created_at, CAST(make_timestamp(epoch_us(created_at)) AS DATE) AS day,
  completed_at, status, type, quality,
  format, topic, title, slug, word_count, credits_charged
FROM main.articles
WHERE _deleted_at IS NULL AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
