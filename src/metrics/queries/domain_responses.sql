-- Newest selected responses that cite a domain: one row per response.
-- parameter domain VARCHAR: The domain.
-- parameter limit BIGINT 20: Maximum number of rows.
-- column response_id UUID: The response.
-- column created_at TIMESTAMPTZ: When the engine responded (UTC).
-- column engine VARCHAR: Engine slug.
-- column prompt_id UUID: The prompt.
-- column prompt VARCHAR: Text of the prompt, as sent with the response.
-- column brand_mentioned BOOLEAN: Whether it mentions the brand.
-- column citations BIGINT: Citations of the domain.
WITH cited AS (
  SELECT response_id, count(*) AS citations FROM main.response_citations
  WHERE brand_id = $brand AND _deleted_at IS NULL AND domain = $domain
    AND in_days(created_at, $from, $to)
  GROUP BY response_id
), newest AS (
  SELECT s.*, c.citations FROM scope s JOIN cited c USING (response_id) ORDER BY s.created_at DESC, s.response_id LIMIT $limit
)
SELECT n.response_id, n.created_at, n.engine, n.prompt_id, r.prompt, n.brand_mentioned, n.citations
FROM newest n JOIN main.responses r ON r.id = n.response_id AND r.brand_id = $brand
ORDER BY n.created_at DESC, n.response_id
