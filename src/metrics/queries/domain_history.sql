-- Citations of a domain over time: one row per period and engine, and one over all engines.
-- formula: share = responses / responses_of_all. The bounds are Wilson's score interval (95 %).
-- parameter domain VARCHAR: The domain.
-- parameter grain VARCHAR week day|week|month|range: Length of the periods; range for one row over all days.
-- column period DATE: First day of the period (UTC).
-- column engine VARCHAR: Engine slug; null over all engines.
-- column citations BIGINT: Citations of pages of the domain.
-- column responses BIGINT: Selected responses that cite the domain.
-- column responses_of_all BIGINT: All selected responses.
-- column share DOUBLE: responses / responses_of_all, from 0 to 1.
-- column share_lower DOUBLE: Lower bound.
-- column share_upper DOUBLE: Upper bound.
WITH cited AS (
  SELECT response_id, count(*) AS citations FROM main.response_citations
  WHERE brand_id = $brand AND _deleted_at IS NULL AND domain = $domain
    AND in_days(created_at, $from, $to)
  GROUP BY response_id
), placed AS (
  SELECT CASE WHEN $grain = 'range' THEN $from ELSE CAST(date_trunc(if($grain = 'range', 'day', $grain), s.day) AS DATE) END AS period,
    s.engine, c.citations
  FROM scope s LEFT JOIN cited c USING (response_id)
), counted AS (
  SELECT period, if(grouping(engine) = 0, engine, NULL) AS engine, grouping(engine) AS combined,
    CAST(coalesce(sum(citations), 0) AS BIGINT) AS citations, count(citations) AS responses, count(*) AS responses_of_all
  FROM placed GROUP BY GROUPING SETS ((period, engine), (period))
), shares AS (
  SELECT *, responses / responses_of_all AS share, wilson_weight(responses_of_all) AS w FROM counted
)
SELECT period, engine, citations, responses, responses_of_all, share,
  wilson_lower(share, w) AS share_lower,
  wilson_upper(share, w) AS share_upper
FROM shares ORDER BY period, combined DESC, engine
