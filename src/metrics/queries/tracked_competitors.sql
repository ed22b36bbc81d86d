-- History of the competitors that are or were tracked, and of those that responses mention although they were never listed: one row
-- per version of a competitor.
-- column competitor_id UUID: The competitor.
-- column competitor VARCHAR: Its current or last name.
-- column is_tracked BOOLEAN: Whether it is tracked now.
-- column removed_at TIMESTAMPTZ: Time (UTC) at which a sync found that it is no longer listed; null while it is tracked, or if it never was.
-- column change VARCHAR: inserted, updated, deleted or restored; null without a stored history.
-- column name VARCHAR: Its name in this version.
-- column valid_from TIMESTAMPTZ: When a sync first saw this version (UTC).
-- column valid_to TIMESTAMPTZ: When a sync found it changed or deleted (UTC); null for the current version.
-- column mentions BIGINT: Responses of the range that mention it. Filters other than the days do not apply.
-- column last_mentioned_at TIMESTAMPTZ: The last response that mentions it, of any day (UTC).
WITH mentioned AS (
  SELECT competitor_id, any_value(name) AS name, max(created_at) AS last_mentioned_at,
    count(DISTINCT response_id) FILTER (in_days(created_at, $from, $to)) AS mentions
  FROM main.response_competitors
  WHERE brand_id = $brand AND _deleted_at IS NULL AND competitor_id IS NOT NULL GROUP BY competitor_id
), listed AS (
  SELECT id AS competitor_id, any_value(name) AS name,
    CASE WHEN count(*) = count(_deleted_at) THEN max(_deleted_at) END AS removed_at, count(*) > count(_deleted_at) AS is_tracked
  FROM main.competitors WHERE brand_id = $brand GROUP BY id
), every AS (
  SELECT coalesce(l.competitor_id, m.competitor_id) AS competitor_id, coalesce(l.name, m.name) AS competitor,
    coalesce(l.is_tracked, false) AS is_tracked, l.removed_at, coalesce(m.mentions, 0) AS mentions, m.last_mentioned_at
  FROM listed l FULL JOIN mentioned m USING (competitor_id)
)
SELECT e.competitor_id, e.competitor, e.is_tracked, e.removed_at, h.change, coalesce(h.name, e.competitor) AS name, h.valid_from,
  h.valid_to, e.mentions, e.last_mentioned_at
FROM every e LEFT JOIN main.competitors_history h ON h.brand_id = $brand AND h.id = e.competitor_id
ORDER BY e.is_tracked, e.competitor, e.competitor_id, h.valid_from
