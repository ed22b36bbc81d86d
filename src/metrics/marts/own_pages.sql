-- Own pages with new, continued or lost citations: one row per brand and page of an owned domain that is cited in one
-- of the two periods of mart.periods.
-- formula: new: cited only in the recent period; dropped: only in the period before; kept: in both; cited: without a
--   period before.
-- column brand_id UUID: The brand.
-- column url VARCHAR: The page.
-- column domain VARCHAR: Its domain.
-- column title VARCHAR: Its latest title.
-- column state VARCHAR: new, kept, dropped or cited.
-- column before_citations BIGINT: Citations in the period before; null if there is none.
-- column recent_citations BIGINT: Citations in the recent period.
-- column last_cited_at TIMESTAMPTZ: Its last citation in the two periods (UTC).
WITH owned AS MATERIALIZED (
  SELECT brand_id, domain FROM mart.dim_domain WHERE owner = 'owned'
), pages AS (
  SELECT
    c.brand_id,
    c.url,
    arg_max(c.domain, c.created_at) AS domain,
    arg_max(c.title, c.created_at) AS title,
    CASE WHEN bool_and(p.before_from IS NOT NULL) THEN count(*) FILTER (c.day < p.recent_from) END AS before_citations,
    count(*) FILTER (c.day >= p.recent_from) AS recent_citations,
    max(c.created_at) AS last_cited_at
  FROM mart.fct_citation c
  JOIN mart.periods p ON p.brand_id = c.brand_id AND c.day BETWEEN coalesce(p.before_from, p.recent_from) AND p.anchor_day
  SEMI JOIN owned d ON d.brand_id = c.brand_id AND d.domain = c.domain
  WHERE c.url IS NOT NULL AND c.domain IN (SELECT domain FROM owned)
  GROUP BY c.brand_id, c.url
)
SELECT
  brand_id,
  url,
  domain,
  title,
  CASE WHEN before_citations IS NULL THEN 'cited' WHEN before_citations = 0 THEN 'new' WHEN recent_citations = 0 THEN 'dropped' ELSE 'kept' END AS state,
  before_citations,
  recent_citations,
  last_cited_at
FROM pages
