-- Pages that responses cite: one row per citation. A page cited twice in one response is two citations.
-- key: response_id, ordinal
-- time: created_at
-- column response_id UUID: The response.
-- column brand_id UUID: The brand.
-- column prompt_id UUID: The prompt that was asked.
-- column engine VARCHAR: Engine slug.
-- column created_at TIMESTAMPTZ: When the engine responded (UTC).
-- column day DATE: Day of the response (UTC).
-- column ordinal BIGINT: Position in the list upstream sent, from 0. response_id and ordinal identify a citation.
-- column position BIGINT: The page's position among the citations.
-- column url VARCHAR: The cited page.
-- column domain VARCHAR: Its domain; see dim_domain for the owner.
-- column title VARCHAR: Its title.
SELECT response_id, brand_id, prompt_id, engine, created_at, CAST(make_timestamp(epoch_us(created_at)) AS DATE) AS day,
  ordinal, position, url, domain,
  title
FROM main.response_citations
WHERE _deleted_at IS NULL AND created_at IS NOT NULL AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
