-- Events of a brand that may explain a jump of a series: one row per day and kind with alerts, published articles, or changes of the set
-- of prompts.
-- column day DATE: The day (UTC).
-- column kind VARCHAR: alert, article or prompts.
-- column events BIGINT: Number of alerts, articles, or prompts added and removed.
-- column sentence VARCHAR: What happened, as a sentence.
-- column ids JSON: Ids of the alerts, articles or prompts, at most 20.
WITH alerts_of AS (
  SELECT CAST(make_timestamp(epoch_us(detected_at)) AS DATE) AS day, id, headline FROM main.alerts
  WHERE brand_id = $brand AND _deleted_at IS NULL
), articles_of AS (
  SELECT CAST(make_timestamp(epoch_us(completed_at)) AS DATE) AS day, id, title FROM main.articles
  WHERE brand_id = $brand AND _deleted_at IS NULL AND completed_at IS NOT NULL
), changed AS (
  -- Prompts that existed before the first sync have no day on which they were added, except for the one that upstream reports.
  SELECT CAST(make_timestamp(epoch_us(created_at)) AS DATE) AS day, id, 1 AS added FROM main.prompts
  WHERE brand_id = $brand AND created_at IS NOT NULL
  UNION ALL
  SELECT CAST(make_timestamp(epoch_us(_deleted_at)) AS DATE), id, -1 FROM main.prompts
  WHERE brand_id = $brand AND _deleted_at IS NOT NULL
), events AS (
  SELECT day, 'alert' AS kind, count(*) AS events,
    if(count(*) = 1, 'Alert: ' || coalesce(min(headline), 'without a headline'), count(*) || ' alerts, such as: ' || coalesce(min(headline), ''))
      AS sentence,
    list(id ORDER BY id)[1:20] AS ids
  FROM alerts_of GROUP BY day
  UNION ALL
  SELECT day, 'article', count(*),
    if(count(*) = 1, 'Article published: ' || coalesce(min(title), 'without a title'), count(*) || ' articles published, such as: ' || coalesce(min(title), '')),
    list(id ORDER BY id)[1:20]
  FROM articles_of GROUP BY day
  UNION ALL
  SELECT day, 'prompts', count(*),
    'The set of prompts changed: ' || count(*) FILTER (added = 1) || ' added, ' || count(*) FILTER (added = -1) || ' removed',
    list(id ORDER BY id)[1:20]
  FROM changed GROUP BY day
)
SELECT day, kind, events, sentence || '.' AS sentence, to_json(ids) AS ids
FROM events WHERE day BETWEEN $from AND $to ORDER BY day, kind
