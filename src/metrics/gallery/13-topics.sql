-- In which topics are we strong or weak?
-- Visibility per topic over all engines in the last 4 weeks with data, with its 95 % interval (Wilson). Prompts count
-- in the topic that they had then.
-- tables: mart.visibility_by_group_then
-- columns: brand, topic, responses, mentions, visibility, visibility_lower, visibility_upper
WITH recent AS (
  SELECT * FROM mart.visibility_by_group_then WHERE group_by = 'topic' AND scope = 'all engines'
  QUALIFY dense_rank() OVER (PARTITION BY brand_id ORDER BY week DESC) <= 4
), counted AS (
  SELECT brand_name AS brand, name AS topic, CAST(sum(responses) AS BIGINT) AS responses, CAST(sum(mentions) AS BIGINT) AS mentions,
    sum(mentions) / sum(responses) AS p, 3.8415 / sum(responses) AS w
  FROM recent GROUP BY brand_id, brand_name, group_id, name
)
SELECT brand, topic, responses, mentions, p AS visibility,
  greatest(0, wilson_lower(p, w)) AS visibility_lower,
  least(1, wilson_upper(p, w)) AS visibility_upper
FROM counted
ORDER BY brand, visibility DESC, topic
