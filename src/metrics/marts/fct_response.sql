-- Answers of AI engines that are listed now and say when they were given: one row per answer.
-- formula: position and sentiment count only where the brand is mentioned, as in the API's own numbers.
-- column response_id UUID: The answer.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt that was asked.
-- column engine VARCHAR: Engine slug.
-- column created_at TIMESTAMP: When the engine answered (UTC).
-- column day DATE: Day of the answer (UTC).
-- column brand_mentioned BOOLEAN: Whether the answer mentions the brand.
-- column brand_position BIGINT: The brand's place among those mentioned; null where it is not mentioned.
-- column brand_sentiment VARCHAR: How the answer speaks of the brand, a label; null where it is not mentioned.
SELECT
  id AS response_id,
  brand_id,
  prompt_id,
  engine,
  created_at,
  CAST(created_at AS DATE) AS day,
  coalesce(brand_mentioned, false) AS brand_mentioned,
  CASE WHEN brand_mentioned THEN brand_position END AS brand_position,
  CASE WHEN brand_mentioned THEN brand_sentiment END AS brand_sentiment
FROM responses
WHERE _deleted_at IS NULL AND created_at IS NOT NULL AND brand_id IN (SELECT id FROM brands WHERE _deleted_at IS NULL)
