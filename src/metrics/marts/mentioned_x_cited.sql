-- Mention rate of responses with and without citations of the brand's own pages, by month: one row per brand, month and
-- engine, and one over all engines; only brands with a known site. Filter by scope before summing.
-- formula: mention_rate_cited = mentioned_and_cited / (mentioned_and_cited + cited_only), mention_rate_not_cited =
--   mentioned_only / (mentioned_only + neither).
-- column brand_id UUID: The brand.
-- column month DATE: First day of the month (UTC).
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column responses BIGINT: Responses in scope; the four counts that follow add up to it.
-- column mentioned_and_cited BIGINT: Responses that mention the brand and cite an owned domain.
-- column mentioned_only BIGINT: Responses that mention the brand and cite no owned domain.
-- column cited_only BIGINT: Responses that cite an owned domain and do not mention the brand.
-- column neither BIGINT: Responses that do neither.
-- column mention_rate_cited DOUBLE: Share of the responses citing an owned domain that mention the brand; null without
--   any.
-- column mention_rate_not_cited DOUBLE: Share of the other responses that mention the brand; null without any.
WITH owned AS MATERIALIZED (
  SELECT brand_id, domain FROM mart.dim_domain WHERE owner = 'owned'
), cited AS (
  SELECT DISTINCT brand_id, response_id FROM (
    SELECT brand_id, response_id, domain FROM main.response_citations
    WHERE _deleted_at IS NULL AND domain IN (SELECT domain FROM owned)
  ) SEMI JOIN owned USING (brand_id, domain)
), citing AS (
  SELECT r.brand_id, r.day, r.engine, count(*) AS citing, mention_count(r.brand_mentioned) AS together
  FROM mart.fct_response r JOIN cited c ON c.brand_id = r.brand_id AND c.response_id = r.response_id
  GROUP BY ALL
), counted AS (
  SELECT d.brand_id, CAST(date_trunc('month', d.day) AS DATE) AS month, d.engine, d.responses, d.mentions,
    coalesce(c.citing, 0) AS citing, coalesce(c.together, 0) AS together
  FROM mart.answers_daily d
  JOIN mart.dim_brand b ON b.brand_id = d.brand_id AND b.has_sites
  LEFT JOIN citing c ON c.brand_id = d.brand_id AND c.day = d.day AND c.engine IS NOT DISTINCT FROM d.engine
), scoped AS (
  SELECT
    brand_id,
    month,
    if(grouping(engine) = 0, 'engine', 'all engines') AS scope,
    engine,
    CAST(sum(responses) AS BIGINT) AS n,
    CAST(sum(mentions) AS BIGINT) AS mentions,
    CAST(sum(citing) AS BIGINT) AS citing,
    CAST(sum(together) AS BIGINT) AS together
  FROM counted
  GROUP BY GROUPING SETS ((brand_id, month, engine), (brand_id, month))
)
SELECT
  brand_id,
  month,
  scope,
  engine,
  n AS responses,
  together AS mentioned_and_cited,
  mentions - together AS mentioned_only,
  citing - together AS cited_only,
  n - mentions - citing + together AS neither,
  together / nullif(citing, 0) AS mention_rate_cited,
  (mentions - together) / nullif(n - citing, 0) AS mention_rate_not_cited
FROM scoped
