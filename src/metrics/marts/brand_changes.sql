-- Change of a brand's key figures between the two periods of mart.periods, with intervals: one row per brand and measure
-- with data in one of the periods.
-- formula: value = part / whole. The bounds of visibility are Wilson's score interval. The bounds of the other measures
--   are those of a ratio estimate whose sample units are the responses, because one response has several mentions or
--   citations: value -+ z * sqrt(n / (n - 1) * sum((part - value * whole) ^ 2)) / sum(whole), for at least 30 responses.
--   share_of_voice and owned_citations have Wilson's interval if all responses have the same ratio, such as 0 of n.
--   The bounds of the change combine those of the periods (Newcombe's method 10, and Zou and Donner's for any measure).
--   Every interval has the level 0.99, so the five measures of a brand together have at least 0.95 (Bonferroni).
-- source: Wilson, E. B. (1927), JASA 22:209-212. Cochran, W. G. (1977), Sampling techniques, 3rd edition, section 6.4.
--   Korn, E. L. and Graubard, B. I. (1998), Survey Methodology 24:193-201.
--   Newcombe, R. G. (1998), Statistics in Medicine 17:873-890. Zou, G. Y. and Donner, A. (2008), Construction of
--   confidence limits about effect measures, Statistics in Medicine 27:1693-1702.
-- column brand_id UUID: The brand.
-- column measure VARCHAR: visibility, share_of_voice, position (mean position when mentioned), net_sentiment (from -1 to
--   1), or owned_citations (share of citations of the brand's own pages; only for brands with a known site).
-- column before_responses BIGINT: Responses with data on the measure in the period before.
-- column before_part DOUBLE: Mentions of the brand, sum of its positions, positive less negative mentions, or citations
--   of its pages.
-- column before_whole BIGINT: Responses, mentions of all entities, mentions with a position, mentions with a label of
--   known worth, or all citations that name a domain.
-- column before_value DOUBLE: before_part / before_whole; null without data.
-- column before_lower DOUBLE: Lower bound of before_value; null with too few responses.
-- column before_upper DOUBLE: Upper bound of before_value; null with too few responses.
-- column recent_responses BIGINT: Responses with data on the measure in the recent period.
-- column recent_part DOUBLE: Like before_part.
-- column recent_whole BIGINT: Like before_whole.
-- column recent_value DOUBLE: recent_part / recent_whole; null without data.
-- column recent_lower DOUBLE: Lower bound of recent_value; null with too few responses.
-- column recent_upper DOUBLE: Upper bound of recent_value; null with too few responses.
-- column change DOUBLE: recent_value - before_value; null without data in both periods.
-- column change_lower DOUBLE: Lower bound of the change; null with too few responses.
-- column change_upper DOUBLE: Upper bound of the change; null with too few responses.
-- column is_significant BOOLEAN: Whether the interval of the change excludes zero.
WITH spans AS MATERIALIZED (
  SELECT brand_id, coalesce(before_from, recent_from) AS before_from, recent_from, anchor_day FROM mart.periods
), owned AS MATERIALIZED (
  SELECT brand_id, domain FROM mart.dim_domain WHERE owner = 'owned'
), answered AS (
  SELECT r.*, r.day >= p.recent_from AS is_recent
  FROM mart.fct_response r
  JOIN spans p ON p.brand_id = r.brand_id AND r.day BETWEEN p.before_from AND p.anchor_day
), units AS (
  SELECT brand_id, is_recent, 'visibility' AS measure, mention(brand_mentioned) AS y, 1 AS x FROM answered
  UNION ALL
  SELECT brand_id, is_recent, 'position', brand_position, 1 FROM answered WHERE brand_position IS NOT NULL
  UNION ALL
  SELECT a.brand_id, a.is_recent, 'net_sentiment', lean_value(l.lean), 1
  FROM answered a JOIN mart.sentiment_label l ON l.label = a.brand_sentiment
  UNION ALL
  SELECT m.brand_id, m.day >= p.recent_from AS is_recent, 'share_of_voice', count(*) FILTER (m.entity_type = 'brand'), count(*)
  FROM mart.fct_entity_mention m
  JOIN spans p ON p.brand_id = m.brand_id AND m.day BETWEEN p.before_from AND p.anchor_day
  GROUP BY m.brand_id, is_recent, m.response_id
  UNION ALL
  SELECT c.brand_id, c.day >= p.recent_from AS is_recent, 'owned_citations', count(d.domain), count(*)
  FROM mart.fct_citation c
  JOIN spans p ON p.brand_id = c.brand_id AND c.day BETWEEN p.before_from AND p.anchor_day
  JOIN mart.dim_brand b ON b.brand_id = c.brand_id AND b.has_sites
  LEFT JOIN owned d ON d.brand_id = c.brand_id AND d.domain = c.domain
  WHERE c.domain IS NOT NULL
  GROUP BY c.brand_id, is_recent, c.response_id
), sums AS (
  SELECT
    brand_id,
    is_recent,
    measure,
    count(*) AS n,
    CAST(sum(y) AS DOUBLE) AS part,
    CAST(sum(x) AS BIGINT) AS whole,
    part / whole AS value,
    CAST(sum(x * x) AS DOUBLE) AS sizes,
    CAST(sum(y * y) AS DOUBLE) - 2 * value * CAST(sum(y * x) AS DOUBLE) + value * value * sizes AS squares
  FROM units GROUP BY brand_id, is_recent, measure
), bounds AS (
  SELECT
    *,
    CAST(6.634896601021213 AS DOUBLE) AS z2,
    z2 / n AS w,
    CASE WHEN n >= 30 THEN sqrt(z2 * n / (n - 1) * greatest(0, squares)) / whole END AS reach,
    measure = 'visibility'
      OR (measure IN ('share_of_voice', 'owned_citations') AND n >= 30 AND is_flat(squares, sizes)) AS is_score,
    CASE WHEN is_score THEN wilson_lower(value, w) ELSE value - reach END AS lower,
    CASE WHEN is_score THEN wilson_upper(value, w) ELSE value + reach END AS upper
  FROM sums
), sides AS (
  SELECT
    brand_id,
    measure,
    coalesce(b.n, 0) AS before_responses,
    coalesce(b.part, 0) AS before_part,
    coalesce(b.whole, 0) AS before_whole,
    b.value AS before_value,
    b.lower AS before_lower,
    b.upper AS before_upper,
    coalesce(r.n, 0) AS recent_responses,
    coalesce(r.part, 0) AS recent_part,
    coalesce(r.whole, 0) AS recent_whole,
    r.value AS recent_value,
    r.lower AS recent_lower,
    r.upper AS recent_upper
  FROM (SELECT * FROM bounds WHERE NOT is_recent) b
  FULL JOIN (SELECT * FROM bounds WHERE is_recent) r USING (brand_id, measure)
), changes AS (
  SELECT
    *,
    recent_value - before_value AS change,
    newcombe_lower(recent_value, recent_lower, before_value, before_upper) AS change_lower,
    newcombe_upper(recent_value, recent_upper, before_value, before_lower) AS change_upper
  FROM sides
)
SELECT *, coalesce(change_lower > 0 OR change_upper < 0, false) AS is_significant FROM changes
