-- Calendar of all years with data: one row per day.
-- column day DATE: The day.
-- column year BIGINT: Calendar year.
-- column quarter BIGINT: Quarter of the year, 1 to 4.
-- column month DATE: First day of the month.
-- column month_of_year BIGINT: Month of the year, 1 to 12.
-- column week DATE: Monday of the ISO week.
-- column iso_year BIGINT: Year that the ISO week belongs to.
-- column iso_week BIGINT: ISO week of that year, 1 to 53.
-- column weekday BIGINT: ISO day of the week, Monday 1 to Sunday 7.
-- column is_weekend BOOLEAN: Whether it is a Saturday or a Sunday.
WITH moments AS (
  SELECT make_timestamp(epoch_us(created_at)) AS moment FROM main.responses
  UNION ALL SELECT date FROM main.traffic_daily
  UNION ALL SELECT date FROM main.metrics_daily
  UNION ALL SELECT make_timestamp(epoch_us(detected_at)) FROM main.alerts
  UNION ALL SELECT make_timestamp(epoch_us(created_at)) FROM main.forum_opportunities
), bounds AS (
  -- Absurd dates would otherwise create a calendar of millions of days.
  SELECT min(moment) AS first_day, max(moment) AS last_day FROM moments
  WHERE moment >= TIMESTAMP '1970-01-01' AND moment < TIMESTAMP '2200-01-01'
), days AS (
  SELECT CAST(unnest(generate_series(
    date_trunc('year', first_day), date_trunc('year', last_day) + INTERVAL 1 YEAR - INTERVAL 1 DAY, INTERVAL 1 DAY
  )) AS DATE) AS day
  FROM bounds WHERE first_day IS NOT NULL
)
SELECT
  day,
  year(day) AS year,
  quarter(day) AS quarter,
  CAST(date_trunc('month', day) AS DATE) AS month,
  month(day) AS month_of_year,
  CAST(date_trunc('week', day) AS DATE) AS week,
  isoyear(day) AS iso_year,
  weekofyear(day) AS iso_week,
  isodow(day) AS weekday,
  isodow(day) >= 6 AS is_weekend
FROM days
