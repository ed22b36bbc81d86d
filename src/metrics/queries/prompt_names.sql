-- Texts of the prompts of a brand, also of deleted ones: one row per prompt.
-- column prompt_id UUID: The prompt.
-- column text VARCHAR: The text sent to the engines.
-- column is_deleted BOOLEAN: Whether the API no longer lists the prompt.
SELECT id AS prompt_id, text, _deleted_at IS NOT NULL AS is_deleted
FROM main.prompts WHERE brand_id = $brand
ORDER BY is_deleted, text, id
