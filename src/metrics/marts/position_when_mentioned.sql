-- Position of the brand when mentioned, by week: one row per brand, ISO week and engine with mentions, and one over all
-- engines. Filter by scope before summing.
-- formula: avg_position = position_sum / placed, first_mention_rate = first_mentions / placed. First is the lowest
--   position that upstream has ever reported, at most 1.
-- column brand_id UUID: The brand.
-- column week DATE: Monday of the ISO week (UTC).
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column mentions BIGINT: Responses that mention the brand.
-- column placed BIGINT: Mentions that have a position.
-- column position_sum BIGINT: Sum of the positions.
-- column first_mentions BIGINT: Mentions in first position.
-- column avg_position DOUBLE: Mean position; null if no mention has one.
-- column first_mention_rate DOUBLE: Share of the mentions with a position that are in first position, from 0 to 1.
SELECT
  brand_id,
  CAST(date_trunc('week', day) AS DATE) AS week,
  if(grouping(engine) = 0, 'engine', 'all engines') AS scope,
  engine,
  CAST(sum(mentions) AS BIGINT) AS mentions,
  CAST(sum(placed) AS BIGINT) AS placed,
  CAST(sum(position_sum) AS BIGINT) AS position_sum,
  CAST(sum(first_mentions) AS BIGINT) AS first_mentions,
  sum(position_sum) / nullif(sum(placed), 0) AS avg_position,
  sum(first_mentions) / nullif(sum(placed), 0) AS first_mention_rate
FROM mart.answers_daily WHERE mentions > 0
GROUP BY GROUPING SETS ((brand_id, week, engine), (brand_id, week))
