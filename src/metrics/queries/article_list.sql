-- Articles of a brand, including articles that the API no longer lists: one row per article.
-- column article_id UUID: The article.
-- column title VARCHAR: Title.
-- column status VARCHAR: Current state, or the last one if it is no longer listed.
-- column since TIMESTAMPTZ: When a sync first saw it in this state (UTC); null if no state was recorded.
-- column type VARCHAR: Type.
-- column quality VARCHAR: Quality.
-- column format VARCHAR: Format.
-- column word_count BIGINT: Number of words.
-- column credits_charged BIGINT: Writing credits charged.
-- column created_at TIMESTAMPTZ: When it was ordered (UTC).
-- column completed_at TIMESTAMPTZ: When it was finished (UTC).
-- column prompt_id UUID: The prompt for which it was written.
-- column prompt VARCHAR: Text of the prompt.
-- column sources BIGINT: Sources of its text.
-- column gone_at TIMESTAMPTZ: Time (UTC) at which a sync found that it is no longer listed; null while it is listed.
-- column states JSON: Its recorded states as a list of {status, since, until}, oldest first.
WITH states AS (
  SELECT article_id, max(since) AS since, to_json(list({status: status, since: strftime(make_timestamp(epoch_us(since)), '%Y-%m-%dT%H:%M:%SZ'), until: strftime(make_timestamp(epoch_us(until)), '%Y-%m-%dT%H:%M:%SZ')} ORDER BY since)) AS states
  FROM mart.article_states WHERE brand_id = $brand GROUP BY article_id
), cited AS (
  SELECT article_id, count(*) AS sources FROM main.article_sources WHERE brand_id = $brand AND _deleted_at IS NULL GROUP BY article_id
)
SELECT a.id AS article_id, a.title, a.status, s.since, a.type, a.quality, a.format, a.word_count, a.credits_charged, a.created_at,
  a.completed_at, a.prompt_id, p.text AS prompt, coalesce(c.sources, 0) AS sources, a._deleted_at AS gone_at, s.states
FROM main.articles a
LEFT JOIN states s ON s.article_id = a.id
LEFT JOIN cited c ON c.article_id = a.id
LEFT JOIN main.prompts p ON p.brand_id = a.brand_id AND p.id = a.prompt_id
WHERE a.brand_id = $brand
ORDER BY a.created_at DESC NULLS LAST, a.id
