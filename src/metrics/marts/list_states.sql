-- States that the items of changing lists were in, over time: one row per item and stretch of time in one state.
-- formula: hours = until, or as_of while the state lasts, minus since. A state that comes back is a row of its own.
-- column list VARCHAR: The list: articles or forum_opportunities.
-- column brand_id UUID: The brand.
-- column item_id UUID: The item.
-- column status VARCHAR: The state.
-- column since TIMESTAMP: When it was first seen in the state (UTC).
-- column until TIMESTAMP: When it was found in another state, or gone (UTC); null while it is in it.
-- column as_of TIMESTAMP: When the list was last read (UTC): what lasts has lasted until then.
-- column hours DOUBLE: Time spent in the state so far, in hours.
-- column is_first BOOLEAN: Whether it is the first state that was seen; it may have begun before.
-- column next_status VARCHAR: The state it moved to; null while there is none.
-- column ended_by VARCHAR: change for another state, gone when it was no longer listed; null while it lasts.
WITH versions AS (
  SELECT 'articles' AS list, brand_id, id, status, valid_from, valid_to, change FROM articles_history
  UNION ALL
  SELECT 'forum_opportunities', brand_id, id, status, valid_from, valid_to, change FROM forum_opportunities_history
), known AS (
  SELECT *, lag(status) OVER life IS DISTINCT FROM status OR change <> 'updated' AS begins
  FROM versions
  WHERE change <> 'deleted' AND brand_id IN (SELECT brand_id FROM mart.dim_brand)
  WINDOW life AS (PARTITION BY list, brand_id, id ORDER BY valid_from)
), numbered AS (
  SELECT *, sum(CAST(begins AS BIGINT)) OVER (PARTITION BY list, brand_id, id ORDER BY valid_from) AS stretch FROM known
), stretches AS (
  SELECT list, brand_id, id, any_value(status) AS status, min(valid_from) AS since,
    CASE WHEN count(valid_to) = count(*) THEN max(valid_to) END AS until, stretch
  FROM numbered GROUP BY list, brand_id, id, stretch
), ordered AS (
  SELECT *, lead(since) OVER life AS next_since, lead(status) OVER life AS next_status
  FROM stretches
  WINDOW life AS (PARTITION BY list, brand_id, id ORDER BY since)
), read AS (
  SELECT resource AS list, brand_id, max(closed_at) AS closed_at FROM sync.coverage GROUP BY resource, brand_id
), last AS (
  SELECT list, brand_id, max(valid_from) AS changed_at FROM known GROUP BY list, brand_id
)
SELECT
  o.list,
  o.brand_id,
  o.id AS item_id,
  o.status,
  o.since,
  o.until,
  greatest(r.closed_at, l.changed_at) AS as_of,
  (epoch_us(coalesce(o.until, greatest(r.closed_at, l.changed_at))) - epoch_us(o.since)) / 3600000000 AS hours,
  o.stretch = 1 AS is_first,
  CASE WHEN o.next_since = o.until THEN o.next_status END AS next_status,
  CASE WHEN o.until IS NULL THEN NULL WHEN o.next_since = o.until THEN 'change' ELSE 'gone' END AS ended_by
FROM ordered o
JOIN last l USING (list, brand_id)
LEFT JOIN read r USING (list, brand_id)
