-- Citations by kind of domain owner, by week: one row per brand, ISO week, engine and kind of owner with citations, and
-- one over all engines. Filter by scope before summing.
-- formula: share = citations / citations_of_all; the owner of a domain is in dim_domain.
-- column brand_id UUID: The brand.
-- column week DATE: Monday of the ISO week (UTC).
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column owner VARCHAR: owned, competitor, forum, press, third party, or unknown; see dim_domain.
-- column citations BIGINT: Citations of pages of this kind of owner.
-- column citations_of_all BIGINT: All citations that name a domain.
-- column share DOUBLE: citations / citations_of_all, from 0 to 1.
WITH domains AS MATERIALIZED (
  SELECT brand_id, domain, owner FROM mart.dim_domain
), owners AS MATERIALIZED (
  SELECT * FROM domains WHERE owner <> 'unknown'
), totals AS (
  SELECT brand_id, CAST(make_timestamp(epoch_us(created_at)) AS DATE) AS day, engine, count(*) AS citations
  FROM main.response_citations WHERE _deleted_at IS NULL AND created_at IS NOT NULL AND domain IS NOT NULL GROUP BY ALL
), named AS (
  -- Few domains have a known owner, so few citations need counting by domain.
  SELECT brand_id, CAST(make_timestamp(epoch_us(created_at)) AS DATE) AS day, engine, domain, count(*) AS citations
  FROM main.response_citations
  WHERE _deleted_at IS NULL AND created_at IS NOT NULL AND domain IN (SELECT domain FROM owners)
  GROUP BY ALL
), counted AS (
  SELECT n.brand_id, n.day, n.engine, o.owner, n.citations
  FROM named n JOIN owners o ON o.brand_id = n.brand_id AND o.domain = n.domain
), split AS (
  SELECT * FROM counted
  UNION ALL
  SELECT t.brand_id, t.day, t.engine, 'unknown', t.citations FROM totals t JOIN mart.dim_brand USING (brand_id)
  UNION ALL
  SELECT c.brand_id, c.day, c.engine, 'unknown', -c.citations FROM counted c
), scoped AS (
  SELECT brand_id, CAST(date_trunc('week', day) AS DATE) AS week, if(grouping(engine) = 0, 'engine', 'all engines') AS scope,
    engine, owner, CAST(sum(citations) AS BIGINT) AS citations
  FROM split
  GROUP BY GROUPING SETS ((brand_id, week, engine, owner), (brand_id, week, owner))
  HAVING sum(citations) > 0
)
SELECT
  brand_id,
  week,
  scope,
  engine,
  owner,
  citations,
  CAST(sum(citations) OVER cell AS BIGINT) AS citations_of_all,
  citations / sum(citations) OVER cell AS share
FROM scoped
WINDOW cell AS (PARTITION BY brand_id, week, scope, engine)
