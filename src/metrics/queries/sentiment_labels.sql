-- Shares of sentiment labels of the mentions of the brand: one row per month with mentions that have a label of known worth.
-- formula: positive = mentions with a label that leans positive / mentions with a label of known worth, and so on.
-- column period DATE: First day of the month (UTC).
-- column positive DOUBLE: Share of mentions with a label that leans positive, from 0 to 1.
-- column neutral DOUBLE: Share of mentions with a neutral label, from 0 to 1.
-- column negative DOUBLE: Share of mentions with a label that leans negative, from 0 to 1.
-- column n BIGINT: Mentions with a label of known worth.
SELECT
  CAST(date_trunc('month', s.day) AS DATE) AS period,
  count(*) FILTER (l.lean = 'positive') / count(*) AS positive,
  count(*) FILTER (l.lean = 'neutral') / count(*) AS neutral,
  count(*) FILTER (l.lean = 'negative') / count(*) AS negative,
  count(*) AS n
FROM scope s JOIN mart.sentiment_label l ON l.label = s.brand_sentiment
WHERE s.brand_mentioned AND l.lean IS NOT NULL
GROUP BY 1
ORDER BY 1
