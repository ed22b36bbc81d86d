SELECT brand_id, day, source, coalesce(sessions, 0) AS sessions, coalesce(key_events, 0) AS key_events,
  coalesce(revenue, 0) AS revenue
FROM {{ source('marts', 'fct_traffic_daily') }}
