-- Whether answers that cite the brand's own pages mention it more often, by month: one row per brand, month and engine, and
-- one over all engines; for brands whose website is known. Filter by scope before summing.
-- formula: mention_rate_cited = mentioned_and_cited / (mentioned_and_cited + cited_only), mention_rate_not_cited = mentioned_only / (mentioned_only +
--   neither).
-- column brand_id UUID: The brand.
-- column month DATE: First day of the month (UTC).
-- column scope VARCHAR: engine for a row of one engine, all engines for the row over all of them.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column responses BIGINT: Answers in scope; the four counts that follow add up to it.
-- column mentioned_and_cited BIGINT: Answers that mention the brand and cite an owned domain.
-- column mentioned_only BIGINT: Answers that mention the brand and cite no owned domain.
-- column cited_only BIGINT: Answers that cite an owned domain and do not mention the brand.
-- column neither BIGINT: Answers that do neither.
-- column mention_rate_cited DOUBLE: Share of the answers citing an owned domain that mention the brand; null without any.
-- column mention_rate_not_cited DOUBLE: Share of the other answers that mention the brand; null without any.
WITH citing AS (
  SELECT DISTINCT c.response_id
  FROM mart.fct_citation c
  JOIN mart.dim_domain d ON d.brand_id = c.brand_id AND d.domain = c.domain AND d.owner = 'owned'
), counted AS (
  SELECT
    r.brand_id,
    CAST(date_trunc('month', r.day) AS DATE) AS month,
    r.engine,
    count(*) AS responses,
    count(*) FILTER (r.brand_mentioned) AS mentions,
    count(c.response_id) AS citing,
    count(c.response_id) FILTER (r.brand_mentioned) AS together
  FROM mart.fct_response r
  JOIN mart.dim_brand b ON b.brand_id = r.brand_id AND b.host IS NOT NULL
  LEFT JOIN citing c ON c.response_id = r.response_id
  GROUP BY ALL
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
