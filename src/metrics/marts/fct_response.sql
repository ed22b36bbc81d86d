-- Responses of AI engines that are not deleted and have a time: one row per response.
-- formula: position and sentiment count only if the brand is mentioned, as in the API's numbers.
-- key: response_id
-- time: created_at
-- column response_id UUID: The response.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt that was asked.
-- column engine VARCHAR: Engine slug.
-- column created_at TIMESTAMPTZ: When the engine responded (UTC).
-- column day DATE: Day of the response (UTC).
-- column brand_mentioned BOOLEAN: Whether the response mentions the brand.
-- column brand_position BIGINT: The brand's position among those mentioned; null if it is not mentioned.
-- column brand_sentiment VARCHAR: Sentiment label of the brand's mention; null if it is not mentioned.
SELECT
  id AS response_id,
  brand_id,
  prompt_id,
  engine,
  created_at,
  CAST(make_timestamp(epoch_us(created_at)) AS DATE) AS day,
  coalesce(brand_mentioned, false) AS brand_mentioned,
  CASE WHEN brand_mentioned THEN brand_position END AS brand_position,
  CASE WHEN brand_mentioned THEN brand_sentiment END AS brand_sentiment
FROM main.responses
WHERE _deleted_at IS NULL AND created_at IS NOT NULL AND brand_id IN (SELECT id FROM main.brands WHERE _deleted_at IS NULL)
