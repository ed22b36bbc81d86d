-- Net sentiment of the brand, by month: one row per brand, month and engine with mentions, and one over all engines.
-- Filter by scope before summing.
-- formula: net_sentiment = (positive - negative) / labelled; avg_sentiment = worth_sum / labelled, on upstream's scale.
--   Worths and leans are in sentiment_label; labels missing there are excluded from both.
-- column brand_id UUID: The brand.
-- column month DATE: First day of the month (UTC).
-- column scope VARCHAR: engine for a row of one engine, all engines for a row over all engines.
-- column engine VARCHAR: Engine slug; null over all engines.
-- column mentions BIGINT: Responses that mention the brand.
-- column labelled BIGINT: Mentions with a label of known worth.
-- column positive BIGINT: Mentions with a label that leans positive.
-- column neutral BIGINT: Mentions with a neutral label.
-- column negative BIGINT: Mentions with a label that leans negative.
-- column worth_sum DOUBLE: Sum of the worths of their labels.
-- column net_sentiment DOUBLE: From -1, all negative, to 1, all positive; null if no mention has a label of known
--   worth.
-- column avg_sentiment DOUBLE: Mean worth of the labels; null without any.
WITH counted AS (
  SELECT brand_id, CAST(date_trunc('month', day) AS DATE) AS month, engine, brand_sentiment AS label, count(*) AS mentions
  FROM mart.fct_response WHERE brand_mentioned GROUP BY ALL
), scoped AS (
  SELECT
    brand_id,
    month,
    if(grouping(engine) = 0, 'engine', 'all engines') AS scope,
    engine,
    CAST(sum(mentions) AS BIGINT) AS mentions,
    CAST(coalesce(sum(mentions) FILTER (lean IS NOT NULL), 0) AS BIGINT) AS labelled,
    CAST(coalesce(sum(mentions) FILTER (lean = 'positive'), 0) AS BIGINT) AS positive,
    CAST(coalesce(sum(mentions) FILTER (lean = 'neutral'), 0) AS BIGINT) AS neutral,
    CAST(coalesce(sum(mentions) FILTER (lean = 'negative'), 0) AS BIGINT) AS negative,
    sum(mentions * worth) AS worth_sum
  FROM counted LEFT JOIN mart.sentiment_label USING (label)
  GROUP BY GROUPING SETS ((brand_id, month, engine), (brand_id, month))
)
SELECT *, (positive - negative) / nullif(labelled, 0) AS net_sentiment, worth_sum / nullif(labelled, 0) AS avg_sentiment
FROM scoped
