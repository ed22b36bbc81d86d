-- Selected responses that cite a domain: one row per day with responses.
-- parameter domain VARCHAR: The domain.
-- column day DATE: The day (UTC).
-- column responses BIGINT: Selected responses.
-- column citing BIGINT: Selected responses that cite the domain.
-- column citing_with_brand BIGINT: Of these, responses that mention the brand.
-- column share DOUBLE: citing / responses, from 0 to 1.
-- column share_lower DOUBLE: Lower bound of the 95 % interval (Wilson).
-- column share_upper DOUBLE: Upper bound of the 95 % interval (Wilson).
WITH cited AS (
  SELECT DISTINCT response_id FROM main.response_citations
  WHERE brand_id = $brand AND _deleted_at IS NULL AND domain = $domain
    AND in_days(created_at, $from, $to)
), counted AS (
  SELECT CAST(make_timestamp(epoch_us(s.created_at)) AS DATE) AS day, count(*) AS responses, count(c.response_id) AS citing,
    count(c.response_id) FILTER (s.brand_mentioned) AS citing_with_brand, citing / responses AS p,
    wilson_weight(responses) AS w
  FROM scope s LEFT JOIN cited c ON c.response_id = s.response_id
  GROUP BY ALL
)
SELECT day, responses, citing, citing_with_brand, p AS share,
  wilson_lower(p, w) AS share_lower,
  wilson_upper(p, w) AS share_upper
FROM counted ORDER BY day
