-- Number of articles, proposed actions or forum threads in each state at the end of a day: one row per day and state. The API reports
-- the current state only; earlier ones are those that syncs recorded. The range ends with the day of the last sync.
-- parameter list VARCHAR articles articles|actions|forum: What is counted.
-- column day DATE: The day (UTC).
-- column status VARCHAR: The state; open or done for actions.
-- column items BIGINT: Number in the state at the end of the day, or at the last sync.
-- column recorded_since TIMESTAMPTZ: When a sync first recorded states of this list (UTC).
WITH stretches AS (
  SELECT if(list = 'articles', 'articles', 'forum') AS list, status, since, until, as_of FROM mart.list_states WHERE brand_id = $brand
  UNION ALL
  SELECT 'actions', if(coalesce(CAST(a.value ->> '$.done' AS BOOLEAN), false), 'done', 'open'), h.valid_from, h.valid_to,
    (SELECT max(closed_at) FROM sync.coverage WHERE resource = 'action_plans' AND brand_id = $brand)
  FROM main.action_plans_history h, json_each(h._children, '$.action_plan_actions') a
  WHERE h.brand_id = $brand AND h.change <> 'deleted'
), listed AS (
  SELECT status, since, until, coalesce(as_of, since) AS as_of FROM stretches WHERE list = $list
), bounds AS (
  SELECT min(since) AS recorded_since, CAST(make_timestamp(epoch_us(max(as_of))) AS DATE) AS last_day FROM listed
), days AS (
  SELECT CAST(unnest(generate_series(
    greatest($from, CAST(make_timestamp(epoch_us(recorded_since)) AS DATE)), least($to + 1, last_day), INTERVAL 1 DAY)) AS DATE) AS day,
    recorded_since
  FROM bounds
)
SELECT d.day, l.status, count(*) AS items, d.recorded_since
FROM days d
JOIN listed l ON l.since < CAST(d.day + 1 AS TIMESTAMPTZ) AND (l.until IS NULL OR l.until >= CAST(d.day + 1 AS TIMESTAMPTZ))
GROUP BY ALL ORDER BY d.day, l.status
