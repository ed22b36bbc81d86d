-- Mention rate of responses with and without citations of own pages: one row for the brand or a competitor; none if no
-- site of it is known.
-- formula: as in mart.mentioned_x_cited. The bounds are Wilson's score interval (95 %).
-- parameter competitor_id UUID null: The competitor; null for the brand.
-- column responses BIGINT: Selected responses; the four counts that follow add up to it.
-- column mentioned_and_cited BIGINT: Responses that mention it and cite one of its domains.
-- column mentioned_only BIGINT: Responses that mention it and cite none of its domains.
-- column cited_only BIGINT: Responses that cite one of its domains and do not mention it.
-- column neither BIGINT: Responses that do neither.
-- column rate_cited DOUBLE: Share of the responses citing one of its domains that mention it; null without any.
-- column rate_cited_lower DOUBLE: Lower bound.
-- column rate_cited_upper DOUBLE: Upper bound.
-- column rate_not_cited DOUBLE: Share of the other responses that mention it; null without any.
-- column rate_not_cited_lower DOUBLE: Lower bound.
-- column rate_not_cited_upper DOUBLE: Upper bound.
WITH known AS (
  SELECT 1 FROM mart.dim_brand WHERE brand_id = $brand AND has_sites AND $competitor_id IS NULL
  UNION ALL
  SELECT 1 FROM mart.dim_competitor WHERE brand_id = $brand AND has_sites AND competitor_id = $competitor_id
), own AS (
  SELECT domain FROM cited_owners
  WHERE brand_id = $brand AND CASE WHEN $competitor_id IS NULL THEN owner = 'owned' ELSE competitor_id = $competitor_id END
), citing AS (
  SELECT DISTINCT response_id FROM main.response_citations
  WHERE brand_id = $brand AND _deleted_at IS NULL AND domain IN (SELECT domain FROM own)
    AND in_days(created_at, $from, $to)
), rivals AS (
  SELECT DISTINCT response_id FROM main.response_competitors
  WHERE brand_id = $brand AND competitor_id = $competitor_id AND _deleted_at IS NULL
    AND in_days(created_at, $from, $to)
), marked AS (
  SELECT if($competitor_id IS NULL, s.brand_mentioned, r.response_id IS NOT NULL) AS is_mentioned, c.response_id IS NOT NULL AS is_cited
  FROM scope s LEFT JOIN citing c USING (response_id) LEFT JOIN rivals r ON r.response_id = s.response_id
), counted AS (
  SELECT count(*) AS responses, count(*) FILTER (is_mentioned AND is_cited) AS mentioned_and_cited,
    count(*) FILTER (is_mentioned AND NOT is_cited) AS mentioned_only, count(*) FILTER (is_cited AND NOT is_mentioned) AS cited_only,
    count(*) FILTER (NOT is_cited AND NOT is_mentioned) AS neither
  FROM marked
), rated AS (
  SELECT *, mentioned_and_cited / nullif(mentioned_and_cited + cited_only, 0) AS a,
    wilson_weight(mentioned_and_cited + cited_only) AS w,
    mentioned_only / nullif(mentioned_only + neither, 0) AS b, wilson_weight(mentioned_only + neither) AS v
  FROM counted
)
SELECT responses, mentioned_and_cited, mentioned_only, cited_only, neither,
  a AS rate_cited,
  wilson_lower(a, w) AS rate_cited_lower,
  wilson_upper(a, w) AS rate_cited_upper,
  b AS rate_not_cited,
  wilson_lower(b, v) AS rate_not_cited_lower,
  wilson_upper(b, v) AS rate_not_cited_upper
FROM rated SEMI JOIN known ON true
