-- Response counts by day: one row per brand, day and engine with responses.
-- formula: the first position is 1, or the lowest reported position if that is lower.
-- column brand_id UUID: The brand.
-- column day DATE: The day (UTC).
-- column engine VARCHAR: Engine slug.
-- column responses BIGINT: Responses.
-- column mentions BIGINT: Responses that mention the brand.
-- column placed BIGINT: Mentions with a position.
-- column position_sum BIGINT: Sum of the positions.
-- column first_mentions BIGINT: Mentions in first position.
WITH first_place AS (
  first_place()
), days AS (
  SELECT
    brand_id,
    CAST(make_timestamp(epoch_us(created_at)) AS DATE) AS day,
    engine,
    count(*) AS responses,
    mention_count(brand_mentioned) AS mentions,
    placed_count(brand_mentioned, brand_position) AS placed,
    position_sum(brand_mentioned, brand_position) AS position_sum,
    count(*) FILTER (brand_mentioned AND is_first(brand_position)) AS first_mentions
  FROM main.responses WHERE _deleted_at IS NULL AND created_at IS NOT NULL GROUP BY ALL
)
-- Filter out deleted brands after counting, because few rows are left then.
SELECT days.* FROM days SEMI JOIN mart.dim_brand USING (brand_id)
