-- Whose pages answers cite, by week: one row per brand, ISO week, engine and kind of owner with citations, and one over all
-- engines. Filter by scope before summing.
-- formula: share = citations / citations_of_all; whose a domain is stands in dim_domain.
-- column brand_id UUID: The brand.
-- column week DATE: Monday of the ISO week (UTC).
-- column scope VARCHAR: engine for a row of one engine, all engines for the row over all of them.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column owner VARCHAR: owned, competitor, third party, or unknown; see dim_domain.
-- column citations BIGINT: Citations of pages of such owners.
-- column citations_of_all BIGINT: All citations that name a domain.
-- column share DOUBLE: citations / citations_of_all, from 0 to 1.
WITH counted AS (
  SELECT brand_id, CAST(date_trunc('week', day) AS DATE) AS week, engine, domain, count(*) AS citations
  FROM mart.fct_citation WHERE domain IS NOT NULL GROUP BY ALL
), owned AS (
  SELECT c.brand_id, c.week, c.engine, d.owner, sum(c.citations) AS citations
  FROM counted c JOIN mart.dim_domain d USING (brand_id, domain) GROUP BY ALL
), scoped AS (
  SELECT brand_id, week, if(grouping(engine) = 0, 'engine', 'all engines') AS scope, engine, owner,
    CAST(sum(citations) AS BIGINT) AS citations
  FROM owned
  GROUP BY GROUPING SETS ((brand_id, week, engine, owner), (brand_id, week, owner))
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
