-- Forum threads of a brand, including threads that the API no longer lists: one row per thread.
-- column opportunity_id UUID: The thread.
-- column title VARCHAR: Title.
-- column url VARCHAR: Its address.
-- column subforum VARCHAR: The community.
-- column type VARCHAR: ai for a thread that engines cite, outreach for one that the brand could join.
-- column status VARCHAR: Current state, or the last one if it is no longer listed.
-- column since TIMESTAMPTZ: When a sync first saw it in this state (UTC); null if no state was recorded.
-- column upvotes BIGINT: Upvotes.
-- column comments BIGINT: Comments.
-- column cited_at TIMESTAMPTZ: When an engine cited it (UTC), as reported by the API.
-- column citing_responses BIGINT: Stored responses that cite its address.
-- column citing_articles BIGINT: Articles with its address as a source.
-- column gone_at TIMESTAMPTZ: Time (UTC) at which a sync found that it is no longer listed; null while it is listed.
-- column states JSON: Its recorded states as a list of {status, since, until}, oldest first.
WITH states AS (
  SELECT opportunity_id, max(since) AS since, to_json(list({status: status, since: strftime(make_timestamp(epoch_us(since)), '%Y-%m-%dT%H:%M:%SZ'), until: strftime(make_timestamp(epoch_us(until)), '%Y-%m-%dT%H:%M:%SZ')} ORDER BY since)) AS states
  FROM mart.forum_states WHERE brand_id = $brand GROUP BY opportunity_id
), urls AS (
  SELECT DISTINCT url FROM main.forum_opportunities WHERE brand_id = $brand AND url IS NOT NULL
), cited AS (
  SELECT c.url, count(DISTINCT c.response_id) AS responses FROM main.response_citations c SEMI JOIN urls u ON u.url = c.url
  WHERE c.brand_id = $brand AND c._deleted_at IS NULL GROUP BY c.url
), written AS (
  SELECT url, count(DISTINCT article_id) AS articles FROM main.article_sources
  WHERE brand_id = $brand AND _deleted_at IS NULL GROUP BY url
)
SELECT f.id AS opportunity_id, f.title, f.url, f.subforum, f.type, f.status, s.since, f.upvotes, f.comments, f.cited_at,
  coalesce(c.responses, 0) AS citing_responses, coalesce(w.articles, 0) AS citing_articles, f._deleted_at AS gone_at, s.states
FROM main.forum_opportunities f
LEFT JOIN states s ON s.opportunity_id = f.id
LEFT JOIN cited c ON c.url = f.url
LEFT JOIN written w ON w.url = f.url
WHERE f.brand_id = $brand
ORDER BY f.created_at DESC NULLS LAST, f.id
