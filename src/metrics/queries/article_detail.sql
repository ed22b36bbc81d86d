-- One article with its text, sources and recorded states: one row, or none for an unknown article.
-- parameter article UUID: The article.
-- column article_id UUID: The article.
-- column title VARCHAR: Title.
-- column status VARCHAR: Current state, or the last one if it is no longer listed.
-- column topic VARCHAR: Topic.
-- column type VARCHAR: Type.
-- column quality VARCHAR: Quality.
-- column format VARCHAR: Format.
-- column slug VARCHAR: Slug.
-- column word_count BIGINT: Number of words.
-- column credits_charged BIGINT: Writing credits charged.
-- column created_at TIMESTAMPTZ: When it was ordered (UTC).
-- column completed_at TIMESTAMPTZ: When it was finished (UTC).
-- column completed_day DATE: Day of that moment (UTC).
-- column prompt_id UUID: The prompt for which it was written.
-- column prompt VARCHAR: Text of the prompt.
-- column primary_keyword VARCHAR: Primary keyword.
-- column meta_description VARCHAR: Meta description.
-- column markdown VARCHAR: Its text as Markdown.
-- column synced_at TIMESTAMPTZ: When a sync last read it (UTC).
-- column recorded_since TIMESTAMPTZ: When a sync first recorded it (UTC).
-- column gone_at TIMESTAMPTZ: Time (UTC) at which a sync found that it is no longer listed; null while it is listed.
-- column sources JSON: Its sources as a list of {url, title, fact, thread}; thread is the id of the forum thread at the address.
-- column references JSON: Its reference addresses.
-- column states JSON: Its recorded states as a list of {status, since, until}, oldest first.
WITH states AS (
  SELECT to_json(list({status: status, since: strftime(make_timestamp(epoch_us(since)), '%Y-%m-%dT%H:%M:%SZ'), until: strftime(make_timestamp(epoch_us(until)), '%Y-%m-%dT%H:%M:%SZ')} ORDER BY since)) AS states
  FROM mart.article_states WHERE brand_id = $brand AND article_id = $article
), threads AS (
  SELECT url, min(CAST(id AS VARCHAR)) AS id FROM main.forum_opportunities WHERE brand_id = $brand GROUP BY url
), cited AS (
  SELECT to_json(list({url: s.url, title: s.title, fact: s.fact, thread: t.id} ORDER BY s.ordinal)) AS sources
  FROM main.article_sources s LEFT JOIN threads t ON t.url = s.url
  WHERE s.brand_id = $brand AND s.article_id = $article AND s._deleted_at IS NULL
)
SELECT a.id AS article_id, a.title, a.status, a.topic, a.type, a.quality, a.format, a.slug, a.word_count, a.credits_charged,
  a.created_at, a.completed_at, CAST(make_timestamp(epoch_us(a.completed_at)) AS DATE) AS completed_day, a.prompt_id, p.text AS prompt,
  a.primary_keyword, a.meta_description, a.markdown, a._synced_at AS synced_at,
  (SELECT min(valid_from) FROM main.articles_history WHERE brand_id = $brand AND id = $article) AS recorded_since,
  a._deleted_at AS gone_at, cited.sources, a.reference_urls AS "references", states.states
FROM main.articles a
CROSS JOIN cited CROSS JOIN states
LEFT JOIN main.prompts p ON p.brand_id = a.brand_id AND p.id = a.prompt_id
WHERE a.brand_id = $brand AND a.id = $article
