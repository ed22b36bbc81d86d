-- Pages of the brand that the selected responses cite, or cited in the comparison period: one row per page.
-- formula: new: cited only in the range; dropped: only in the comparison period; kept: in both; cited: without a comparison. For the
--   periods of mart.periods these are the rows of mart.own_pages.
-- parameter limit BIGINT 500: Maximum number of rows.
-- column url VARCHAR: The page.
-- column title VARCHAR: Its latest title.
-- column domain VARCHAR: Its latest domain.
-- column state VARCHAR: new, kept, dropped or cited.
-- column citations BIGINT: Citations in the range.
-- column before_citations BIGINT: Citations in the comparison period; null without one.
-- column last_cited_at TIMESTAMPTZ: Its last citation in the two periods (UTC).
WITH own AS (
  SELECT domain FROM mart.dim_domain WHERE brand_id = $brand AND owner = 'owned'
), selected AS (
  SELECT response_id, false AS is_before FROM scope UNION ALL SELECT response_id, true FROM scope_before
), counted AS (
  SELECT c.url, arg_max(c.title, c.created_at) AS title, arg_max(c.domain, c.created_at) AS domain,
    count(*) FILTER (NOT s.is_before) AS citations, count(*) FILTER (s.is_before) AS before_citations, max(c.created_at) AS last_cited_at
  FROM main.response_citations c JOIN selected s USING (response_id)
  WHERE c.brand_id = $brand AND c._deleted_at IS NULL AND c.url IS NOT NULL AND c.domain IN (SELECT domain FROM own)
    AND c.created_at >= CAST(least($from, coalesce($before_from, $from)) AS TIMESTAMPTZ) AND c.created_at < CAST($to + 1 AS TIMESTAMPTZ)
  GROUP BY c.url
)
SELECT url, title, domain,
  CASE WHEN $before_from IS NULL THEN 'cited' WHEN before_citations = 0 THEN 'new' WHEN citations = 0 THEN 'dropped' ELSE 'kept' END AS state,
  citations, CASE WHEN $before_from IS NOT NULL THEN before_citations END AS before_citations, last_cited_at
FROM counted ORDER BY citations DESC, before_citations DESC, url LIMIT $limit
