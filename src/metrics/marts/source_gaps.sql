-- Domains cited when competitors are mentioned and the brand is not: one row per brand and domain cited, in the recent
-- period of mart.periods, by responses that mention a currently tracked competitor but not the brand; per engine and
-- over all engines. Filter by scope before summing.
-- formula: share = gap_responses / gap_responses_of_all.
-- column brand_id UUID: The brand.
-- column domain VARCHAR: The cited domain.
-- column owner VARCHAR: Owner of the domain; see dim_domain.
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column gap_responses BIGINT: Responses that cite it and mention a competitor but not the brand.
-- column gap_responses_of_all BIGINT: Responses that mention a competitor but not the brand, with any citations.
-- column mentioning_responses BIGINT: Responses that cite it and mention the brand, for comparison.
-- column share DOUBLE: gap_responses / gap_responses_of_all, from 0 to 1.
WITH recent AS (
  SELECT r.brand_id, r.engine, r.response_id, r.created_at, r.brand_mentioned
  FROM mart.fct_response r
  JOIN mart.periods p ON p.brand_id = r.brand_id AND r.day BETWEEN p.recent_from AND p.anchor_day
), earliest AS (
  SELECT min(recent_from) AS day FROM mart.periods
), rivals AS (
  SELECT brand_id, response_id FROM (
    SELECT brand_id, competitor_id, response_id FROM main.response_competitors
    WHERE _deleted_at IS NULL AND make_timestamp(epoch_us(created_at)) >= (SELECT day FROM earliest)
  ) SEMI JOIN mart.dim_competitor USING (brand_id, competitor_id)
), answers AS (
  SELECT * FROM recent WHERE brand_mentioned
  UNION ALL
  SELECT * FROM recent SEMI JOIN rivals USING (brand_id, response_id) WHERE NOT brand_mentioned
), totals AS (
  SELECT brand_id, if(grouping(engine) = 0, 'engine', 'all engines') AS scope, engine, count(*) AS gap_responses_of_all
  FROM answers WHERE NOT brand_mentioned
  GROUP BY GROUPING SETS ((brand_id, engine), (brand_id))
), citing AS (
  SELECT a.brand_id, a.engine, c.domain, a.brand_mentioned
  FROM answers a
  JOIN (
    SELECT DISTINCT brand_id, response_id, domain FROM main.response_citations
    WHERE _deleted_at IS NULL AND domain IS NOT NULL AND make_timestamp(epoch_us(created_at)) >= (SELECT day FROM earliest)
  ) c ON c.brand_id = a.brand_id AND c.response_id = a.response_id
), counted AS (
  SELECT
    brand_id,
    domain,
    if(grouping(engine) = 0, 'engine', 'all engines') AS scope,
    engine,
    count(*) FILTER (NOT brand_mentioned) AS gap_responses,
    mention_count(brand_mentioned) AS mentioning_responses
  FROM citing
  GROUP BY GROUPING SETS ((brand_id, domain, engine), (brand_id, domain))
)
SELECT
  c.brand_id,
  c.domain,
  d.owner,
  c.scope,
  c.engine,
  c.gap_responses,
  t.gap_responses_of_all,
  c.mentioning_responses,
  c.gap_responses / t.gap_responses_of_all AS share
FROM counted c
JOIN totals t ON t.brand_id = c.brand_id AND t.scope = c.scope AND t.engine IS NOT DISTINCT FROM c.engine
JOIN mart.dim_domain d ON d.brand_id = c.brand_id AND d.domain = c.domain
WHERE c.gap_responses > 0
