-- How often responses mention the brand and a tracked competitor together: one row per competitor.
-- formula: the bounds are Wilson's score interval (95 %). A response that lists a competitor twice counts once, with its first position.
-- column competitor_id UUID: The competitor.
-- column competitor VARCHAR: Name of the competitor.
-- column responses BIGINT: Selected responses.
-- column brand_mentions BIGINT: Responses that mention the brand.
-- column mentions BIGINT: Responses that mention the competitor.
-- column together BIGINT: Responses that mention both.
-- column share DOUBLE: together / mentions, from 0 to 1; null without mentions.
-- column share_lower DOUBLE: Lower bound of the share.
-- column share_upper DOUBLE: Upper bound of the share.
-- column placed BIGINT: Responses that mention both and have both positions.
-- column ahead BIGINT: Responses in which the brand is mentioned before the competitor.
-- column ahead_share DOUBLE: ahead / placed, from 0 to 1.
-- column ahead_lower DOUBLE: Lower bound of the share ahead.
-- column ahead_upper DOUBLE: Upper bound of the share ahead.
WITH rivals AS (
  SELECT competitor_id, response_id, arg_min(position, ordinal) AS position FROM main.response_competitors
  WHERE brand_id = $brand AND _deleted_at IS NULL
    AND in_days(created_at, $from, $to)
  GROUP BY competitor_id, response_id
), totals AS (
  SELECT count(*) AS responses, mention_count(brand_mentioned) AS brand_mentions FROM scope
), counted AS (
  SELECT r.competitor_id, count(*) AS mentions, mention_count(s.brand_mentioned) AS together,
    count(*) FILTER (s.brand_position IS NOT NULL AND r.position IS NOT NULL) AS placed,
    count(*) FILTER (s.brand_position < r.position) AS ahead
  FROM rivals r JOIN scope s USING (response_id) GROUP BY r.competitor_id
), shares AS (
  SELECT c.competitor_id, c.name AS competitor, t.responses, t.brand_mentions, coalesce(n.mentions, 0) AS mentions,
    coalesce(n.together, 0) AS together, coalesce(n.placed, 0) AS placed, coalesce(n.ahead, 0) AS ahead,
    n.together / nullif(n.mentions, 0) AS share, n.ahead / nullif(n.placed, 0) AS ahead_share,
    wilson_weight(n.mentions) AS w, wilson_weight(n.placed) AS v
  FROM mart.dim_competitor c CROSS JOIN totals t LEFT JOIN counted n USING (competitor_id)
  WHERE c.brand_id = $brand
)
SELECT competitor_id, competitor, responses, brand_mentions, mentions, together, share,
  wilson_lower(share, w) AS share_lower,
  wilson_upper(share, w) AS share_upper,
  placed, ahead, ahead_share,
  wilson_lower(ahead_share, v) AS ahead_lower,
  wilson_upper(ahead_share, v) AS ahead_upper
FROM shares ORDER BY together DESC, competitor, competitor_id
