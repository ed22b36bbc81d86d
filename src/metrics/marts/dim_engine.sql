-- AI engines: one row per engine that is listed now or that answers name.
-- column engine VARCHAR: Engine slug, as in answers.
-- column name VARCHAR: Name to show; the slug where upstream gives none.
-- column is_listed BOOLEAN: Whether upstream lists the engine now.
WITH named AS (
  SELECT slug AS engine FROM engines WHERE _deleted_at IS NULL
  UNION
  SELECT engine FROM mart.fct_response WHERE engine IS NOT NULL
)
SELECT
  engine,
  coalesce(any_value(name), engine) AS name,
  coalesce(bool_or(slug IS NOT NULL AND _deleted_at IS NULL), false) AS is_listed
FROM named LEFT JOIN engines ON slug = engine
GROUP BY engine
