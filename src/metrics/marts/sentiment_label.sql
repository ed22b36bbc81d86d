-- Worths of upstream's sentiment labels: one row per label, from calibration (sync.calibration) or the defaults:
-- positive 100, neutral 50, negative 0.
-- formula: a label leans positive if its worth is above that of the label neutral, negative if below. Without a label
--   neutral, the reference is the mean of the highest and the lowest worth.
-- column label VARCHAR: The label.
-- column worth DOUBLE: The number it stands for, on upstream's scale.
-- column lean VARCHAR: positive, neutral or negative.
WITH stored AS (
  SELECT coalesce(
    max(value) FILTER (name = 'labels' AND json_type(value) = 'OBJECT'),
    CAST('{"positive": 100, "neutral": 50, "negative": 0}' AS JSON)
  ) AS labels
  FROM sync.calibration
), worths AS (
  SELECT entry.key AS label, entry.value AS worth FROM (
    SELECT unnest(map_entries(TRY_CAST(labels AS MAP(VARCHAR, DOUBLE)))) AS entry FROM stored
  )
), middle AS (
  SELECT coalesce(max(worth) FILTER (lower(label) = 'neutral'), (max(worth) + min(worth)) / 2) AS worth FROM worths
)
SELECT
  w.label,
  w.worth,
  CASE WHEN w.worth > m.worth THEN 'positive' WHEN w.worth < m.worth THEN 'negative' ELSE 'neutral' END AS lean
FROM worths w CROSS JOIN middle m
