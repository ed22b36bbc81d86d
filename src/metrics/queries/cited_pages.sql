-- Pages that the selected responses cite: one row per page, of all domains or of one.
-- parameter domain VARCHAR null: Pages of this domain only.
-- parameter owner VARCHAR null: Pages of domains with this owner only: owned, competitor, forum, press, third party or unknown.
-- parameter limit BIGINT 500: Maximum number of rows.
-- column url VARCHAR: The page.
-- column title VARCHAR: Its latest title.
-- column domain VARCHAR: Its latest domain.
-- column owner VARCHAR: Owner of the domain.
-- column citations BIGINT: Citations; a page cited twice in one response counts twice.
-- column responses BIGINT: Responses that cite it.
-- column selected BIGINT: All selected responses.
-- column share DOUBLE: responses / selected, from 0 to 1.
-- column before_citations BIGINT: Citations in the comparison period; null without one.
-- column last_cited_at TIMESTAMPTZ: Its last citation in the range (UTC).
WITH cited AS (
  SELECT c.url, c.title, c.domain, c.response_id, c.created_at FROM main.response_citations c
  WHERE c.brand_id = $brand AND c._deleted_at IS NULL AND c.url IS NOT NULL AND ($domain IS NULL OR c.domain = $domain)
    AND c.created_at >= CAST(least($from, coalesce($before_from, $from)) AS TIMESTAMPTZ) AND c.created_at < CAST($to + 1 AS TIMESTAMPTZ)
), counted AS (
  SELECT url, arg_max(title, created_at) AS title, arg_max(domain, created_at) AS domain, count(*) AS citations,
    count(DISTINCT response_id) AS responses, max(created_at) AS last_cited_at
  FROM cited SEMI JOIN scope USING (response_id) GROUP BY url
), earlier AS (
  SELECT url, count(*) AS citations FROM cited SEMI JOIN scope_before USING (response_id) GROUP BY url
)
SELECT c.url, c.title, c.domain, d.owner, c.citations, c.responses, (SELECT count(*) FROM scope) AS selected,
  c.responses / (SELECT count(*) FROM scope) AS share,
  CASE WHEN $before_from IS NOT NULL THEN coalesce(e.citations, 0) END AS before_citations, c.last_cited_at
FROM counted c
LEFT JOIN earlier e USING (url)
LEFT JOIN cited_owners d ON d.brand_id = $brand AND d.domain = c.domain
WHERE $owner IS NULL OR d.owner = $owner
ORDER BY c.citations DESC, c.url
LIMIT $limit
