-- States of list items over time: one row per item and period in one state.
-- formula: hours = until - since, or as_of - since while the state lasts. A state that recurs has several rows.
-- column list VARCHAR: The list: articles or forum_opportunities.
-- column brand_id UUID: The brand.
-- column item_id UUID: The item.
-- column status VARCHAR: The state.
-- column since TIMESTAMPTZ: When a sync first saw the item in the state (UTC).
-- column until TIMESTAMPTZ: When a sync found the item in another state or no longer listed (UTC); null while the state lasts.
-- column as_of TIMESTAMPTZ: When the list was last synced (UTC); open states are counted until then.
-- column hours DOUBLE: Time spent in the state so far, in hours.
-- column is_first BOOLEAN: Whether it is the first state seen; it may have begun earlier.
-- column next_status VARCHAR: The next state; null if there is none.
-- column ended_by VARCHAR: change if another state followed, gone if the item is no longer listed; null while the state lasts.
WITH versions AS (
  SELECT 'articles' AS list, brand_id, id, status, valid_from, valid_to, change FROM main.articles_history
  UNION ALL
  SELECT 'forum_opportunities', brand_id, id, status, valid_from, valid_to, change FROM main.forum_opportunities_history
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
