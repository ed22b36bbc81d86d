-- AI engines: one row per engine that upstream lists or that occurs in responses.
-- column engine VARCHAR: Engine slug, as in responses.
-- column name VARCHAR: Display name; the slug if upstream has none.
-- column is_listed BOOLEAN: Whether upstream currently lists the engine.
WITH named AS (
  SELECT slug AS engine FROM main.engines WHERE _deleted_at IS NULL
  UNION
  SELECT engine FROM mart.fct_response WHERE engine IS NOT NULL
)
SELECT
  engine,
  coalesce(any_value(name), engine) AS name,
  coalesce(bool_or(slug IS NOT NULL AND _deleted_at IS NULL), false) AS is_listed
FROM named LEFT JOIN main.engines ON slug = engine
GROUP BY engine
