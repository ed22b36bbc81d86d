-- Pages that answers cite: one row per citation; a page cited twice in one answer is two citations.
-- column response_id UUID: The answer.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt that was asked.
-- column engine VARCHAR: Engine slug.
-- column created_at TIMESTAMP: When the engine answered (UTC).
-- column day DATE: Day of the answer (UTC).
-- column ordinal BIGINT: Place in the list upstream sent, counted from 0; with the answer, what tells citations apart.
-- column position BIGINT: The page's place among the citations.
-- column url VARCHAR: The cited page.
-- column domain VARCHAR: Its domain; whose it is stands in dim_domain.
-- column title VARCHAR: Its title.
SELECT response_id, brand_id, prompt_id, engine, created_at, CAST(created_at AS DATE) AS day, ordinal, position, url, domain,
  title
FROM response_citations
WHERE _deleted_at IS NULL AND created_at IS NOT NULL AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
