-- Current marks from the pages and from the setting `domains`: one row per brand and marked item.
-- formula: the last mark of each item. Pages show a mark immediately; other readers of the file after the next publication.
-- column brand_id UUID: The brand.
-- column kind VARCHAR: domain, action, or a kind of opportunity, such as source_gap.
-- column id VARCHAR: The domain, action, prompt, thread or page.
-- column value VARCHAR: Of a domain: ours, forum, press, other, or the id or name of a competitor. Of others: done or hidden.
-- column is_setting BOOLEAN: Whether it comes from the setting. A mark from the pages replaces it.
WITH live AS (
  SELECT unnest(from_json(coalesce(getvariable('sightline_marks'), '[]'),
    '[{"brand": "UUID", "kind": "VARCHAR", "id": "VARCHAR", "value": "VARCHAR"}]'), recursive := true)
)
SELECT b.id AS brand_id, l.kind, l.id, l.value, l.brand IS NULL AS is_setting
FROM live l
JOIN main.brands b ON b.id = coalesce(l.brand, b.id) AND b._deleted_at IS NULL
UNION ALL
SELECT brand_id, kind, id, value, is_setting
FROM sync.marks
WHERE getvariable('sightline_marks') IS NULL
