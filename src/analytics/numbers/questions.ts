import { responseSums } from '../model/response-sums.ts';

/** An example question, and the SQL that answers it from the warehouse's tables. */
export interface Question {
  readonly title: string;
  readonly sql: string;
}

/**
 * Three example questions. A ratio is a sum divided by a sum, never a mean of ratios, and is listed with its parts.
 * Visibility is the share of responses that mention the brand. Share of voice is an entity's mentions divided by the
 * mentions of the brand and all tracked competitors.
 */
export const questions: readonly Question[] = [
  {
    title: 'How visible is each brand, by week and engine (last four weeks)?',
    sql: `SELECT b.name AS brand, strftime(date_trunc('week', r.created_at AT TIME ZONE 'UTC'), '%Y-%m-%d') AS week, r.engine,
  count(*) AS answers, ${responseSums.mention_count('r.brand_mentioned')} AS mentioned,
  round(100.0 * ${responseSums.mention_count('r.brand_mentioned')} / count(*), 1) AS visibility
FROM responses r JOIN brands b ON b.id = r.brand_id
WHERE r._deleted_at IS NULL
  AND r.created_at >= (SELECT date_trunc('week', max(created_at) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - INTERVAL 21 DAY
    FROM responses)
GROUP BY ALL ORDER BY brand, week, engine`,
  },
  {
    title: 'What share of voice does each brand and competitor have (last 30 days)?',
    sql: `WITH since AS (SELECT date_trunc('day', max(created_at) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - INTERVAL 29 DAY AS start
  FROM responses),
mentions AS (
  SELECT r.brand_id, b.name AS entity, true AS own FROM responses r JOIN brands b ON b.id = r.brand_id, since
  WHERE r._deleted_at IS NULL AND r.brand_mentioned AND r.created_at >= since.start
  UNION ALL
  SELECT c.brand_id, t.name, false FROM response_competitors c
  JOIN competitors t ON t.brand_id = c.brand_id AND t.id = c.competitor_id AND t._deleted_at IS NULL, since
  WHERE c._deleted_at IS NULL AND c.created_at >= since.start)
SELECT b.name AS brand, entity, own, count(*) AS mentions,
  round(100.0 * count(*) / sum(count(*)) OVER (PARTITION BY b.id), 1) AS share_of_voice
FROM mentions m JOIN brands b ON b.id = m.brand_id
GROUP BY b.id, b.name, entity, own ORDER BY brand, mentions DESC`,
  },
  {
    title: 'Which domains do answers cite most (whole history)?',
    sql: `SELECT domain, count(*) AS citations, count(DISTINCT response_id) AS answers, count(DISTINCT url) AS pages
FROM response_citations WHERE _deleted_at IS NULL GROUP BY domain ORDER BY citations DESC, domain LIMIT 10`,
  },
];
