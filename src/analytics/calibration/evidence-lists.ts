import type { Query } from '../../warehouse/database.ts';
import { literal } from '../../warehouse/schema.ts';
import type { DomainRow, ShareRow } from './candidates-numbers.ts';
import type { CountedTables } from './counted-tables.ts';
import { askedSql, ROWS_MAX } from './evidence.ts';

/** Maximum number of domains that upstream lists. A list of this length may be truncated. */
const LISTED_MAX = 200;
/** A list with at least this share of the stored domains is complete; some stored domains may be newer than the list. */
const WHOLE_LEAST = 0.95;

/** The reported and the stored counts of a domain. */
interface CitedDomain {
  readonly share: number | null;
  readonly said: { readonly citations: number | null; readonly responses: number | null };
  readonly held: { readonly citations: number | null; readonly responses: number | null };
}

/** Reads domain shares from lists whose totals are known. `unlike` counts the rows of all other lists. */
export async function readDomains(query: Query, tables: CountedTables): Promise<{ rows: DomainRow[]; unlike: number }> {
  const within = (table: string): string => `${table} t JOIN (${askedSql('cited_domains')}) s ON t.brand_id = s.brand_id
    AND t.created_at >= s.range_from AND t.created_at < s.range_to + INTERVAL 1 DAY WHERE t._deleted_at IS NULL`;
  const found = await query(
    `WITH cited AS (SELECT s.brand_id, s.range_from, t.domain, ${tables.citationCount} AS citations, count(DISTINCT t.response_id) AS responses
         FROM ${within(tables.citations)} GROUP BY 1, 2, 3),
       wholes AS (SELECT brand_id, range_from, CAST(sum(citations) AS BIGINT) AS citations, count(domain) AS domains
         FROM cited GROUP BY 1, 2),
       answered AS (SELECT s.brand_id, s.range_from, count(*) AS responses FROM ${within(tables.responses)} GROUP BY 1, 2),
       citing AS (SELECT s.brand_id, s.range_from, count(DISTINCT t.response_id) AS responses
         FROM ${within(tables.citations)} GROUP BY 1, 2),
       reported AS (SELECT brand_id, range_from, range_to, max(responses) AS responses FROM metrics
         WHERE _deleted_at IS NULL GROUP BY 1, 2, 3)
     SELECT CAST(m.brand_id AS VARCHAR) AS brand, w.domains, w.citations AS all_citations, a.responses AS all_responses,
       n.responses AS all_citing, r.responses AS said_all, m.share, m.citations AS said_citations, m.responses AS said_responses, c.citations, c.responses
     FROM cited_domains m JOIN (${askedSql('cited_domains')}) s USING (brand_id, range_from, range_to)
       LEFT JOIN cited c ON c.brand_id = m.brand_id AND c.range_from = m.range_from AND c.domain = m.domain
       LEFT JOIN wholes w ON w.brand_id = m.brand_id AND w.range_from = m.range_from
       LEFT JOIN answered a ON a.brand_id = m.brand_id AND a.range_from = m.range_from
       LEFT JOIN citing n ON n.brand_id = m.brand_id AND n.range_from = m.range_from
       LEFT JOIN reported r ON r.brand_id = m.brand_id AND r.range_from = m.range_from AND r.range_to = m.range_to
     WHERE m._deleted_at IS NULL ORDER BY 1 LIMIT ${ROWS_MAX}`,
  );
  const lists = new Map<unknown, unknown[][]>();
  for (const row of found) lists.set(row[0], [...(lists.get(row[0]) ?? []), row]);
  const result = { rows: [] as DomainRow[], unlike: 0 };
  for (const list of lists.values()) {
    const [, domains, citations, responses, citing, reported] = (list[0] ?? []).map((value) => value as number | null);
    const rows = list.map(([, , , , , , share, ...counts]): CitedDomain => {
      const [saidCitations = null, saidResponses = null, heldCitations = null, heldResponses = null] = counts as (
        | number
        | null
      )[];
      return {
        share: share as number | null,
        said: { citations: saidCitations, responses: saidResponses },
        held: { citations: heldCitations, responses: heldResponses },
      };
    });
    const wholes = {
      domains: domains ?? 0,
      citations: citations ?? 0,
      responses: responses ?? 0,
      citing: citing ?? 0,
      reported: reported ?? null,
    };
    const known = sharesOf(rows, wholes);
    result.rows.push(...known);
    result.unlike += known.length === 0 ? rows.length : 0;
  }
  return result;
}

// Upstream does not report the total that a share refers to. If all counts equal the stored ones, use the stored total.
// For a complete list, use the sum of its rows. For a truncated list, the stored total is a close enough estimate.
function sharesOf(
  list: readonly CitedDomain[],
  whole: { domains: number; citations: number; responses: number; citing: number; reported: number | null },
): DomainRow[] {
  const like = list.filter(({ said, held }) => said.citations === held.citations && said.responses === held.responses);
  const isCut = list.length >= LISTED_MAX;
  const isHeld = like.length === list.length && (isCut || list.length === whole.domains);
  const isWhole = !isCut && list.length >= WHOLE_LEAST * whole.domains;
  if (!isHeld && !isCut && !isWhole) return [];
  const sum = list.reduce((total, { said }) => total + (said.citations ?? 0), 0);
  const citations = isHeld || isCut ? whole.citations : sum;
  const responses = isHeld ? whole.responses : (whole.reported ?? whole.responses);
  return (isHeld || isWhole ? list : like).flatMap(({ share, said }) =>
    share === null || said.citations === null || said.responses === null || citations === 0 || responses === 0
      ? []
      : [
          {
            reported: share,
            citations: { part: said.citations, whole: citations },
            responses: { part: said.responses, whole: responses },
            citing: { part: said.responses, whole: whole.citing },
          },
        ],
  );
}

/** Reads the shares of site sessions referred by AI. `empty` has the values reported for sites without sessions. */
export async function readSites(query: Query): Promise<{ rows: ShareRow[]; empty: (number | null)[] }> {
  const found = await query(
    `SELECT ai_sessions, site_sessions, share_of_site FROM traffic_totals
     WHERE _deleted_at IS NULL AND connected AND ai_sessions IS NOT NULL AND site_sessions IS NOT NULL
     ORDER BY range_to DESC LIMIT ${ROWS_MAX}`,
  );
  const result = { rows: [] as ShareRow[], empty: [] as (number | null)[] };
  for (const [part, whole, reported] of found) {
    if (whole === 0) result.empty.push(reported as number | null);
    else if (reported !== null)
      result.rows.push({ part: Number(part), whole: Number(whole), reported: Number(reported) });
  }
  return result;
}

/** A day, or an engine on a day, without stored responses. */
export interface EmptyDay {
  /** Whether upstream reports a row for it. */
  readonly isListed: boolean;
  /** Whether other engines have responses on the day. */
  readonly hasResponses: boolean;
}

/** Reads the days, and engines on a day, without stored responses. */
export async function readEmptyDays(query: Query, tables: CountedTables, since: string): Promise<EmptyDay[]> {
  const first = `CAST(${literal(since)} AS DATE)`;
  const found = await query(
    `WITH brand AS (SELECT id, CAST(created_at AS DATE) AS created, engines FROM brands WHERE _deleted_at IS NULL),
       reported AS (SELECT brand_id, date, row_mode, CASE WHEN row_mode = 'engine' THEN engine END AS engine,
           max(responses) AS responses
         FROM metrics_daily WHERE _deleted_at IS NULL AND date >= ${first} GROUP BY 1, 2, 3, 4),
       held AS (SELECT brand_id, CAST(created_at AS DATE) AS date, engine, count(*) AS n FROM ${tables.responses}
         WHERE _deleted_at IS NULL AND created_at >= ${first} GROUP BY 1, 2, 3),
       days AS (SELECT brand_id, row_mode, CAST(unnest(generate_series(
           CAST(greatest(min(date), coalesce(max(b.created), min(date))) AS TIMESTAMP), CAST(max(date) AS TIMESTAMP),
           INTERVAL 1 DAY)) AS DATE) AS date FROM reported JOIN brand b ON b.id = brand_id GROUP BY 1, 2),
       slots AS (
         SELECT d.brand_id, d.row_mode, d.date, e.engine FROM days d JOIN (
           SELECT id, unnest(from_json(engines, '["VARCHAR"]')) AS engine FROM brand
           WHERE json_type(engines) = 'ARRAY') e ON e.id = d.brand_id WHERE d.row_mode = 'engine'
         UNION ALL SELECT brand_id, row_mode, date, NULL FROM days WHERE row_mode = 'none')
     SELECT r.responses IS NOT NULL AS is_listed, s.row_mode = 'engine' AND EXISTS (SELECT 1 FROM held h
         WHERE h.brand_id = s.brand_id AND h.date = s.date) AS has_responses, count(*) AS n FROM slots s
       LEFT JOIN reported r ON r.brand_id = s.brand_id AND r.date = s.date AND r.row_mode = s.row_mode
         AND r.engine IS NOT DISTINCT FROM s.engine
     WHERE coalesce(r.responses, 0) = 0 AND NOT EXISTS (SELECT 1 FROM held h
       WHERE h.brand_id = s.brand_id AND h.date = s.date AND (s.row_mode = 'none' OR h.engine = s.engine))
     GROUP BY 1, 2`,
  );
  const most = Math.max(1, ...found.map(([, , n]) => Number(n)));
  // Only the ratio matters, so scale the counts down.
  const scale = Math.min(1, ROWS_MAX / most);
  return found.flatMap(([isListed, hasResponses, n]) =>
    new Array<EmptyDay>(Math.ceil(Number(n) * scale)).fill({
      isListed: isListed === true,
      hasResponses: hasResponses === true,
    }),
  );
}

/** Reads the `engine` values of rows that combine all engines. */
export async function readCombinedEngines(query: Query, since: string): Promise<(string | null)[]> {
  const found = await query(
    `SELECT engine FROM metrics_daily WHERE _deleted_at IS NULL AND row_mode = 'none' AND date >= CAST($1 AS DATE)
     ORDER BY date DESC LIMIT ${ROWS_MAX}`,
    [since],
  );
  return found.map(([engine]) => engine as string | null);
}

/** Reads the entity types of competitor rows. */
export async function readCompetitorTypes(query: Query, since: string): Promise<string[]> {
  const found = await query(
    `(SELECT entity_type FROM metrics_daily WHERE _deleted_at IS NULL AND competitor_id IS NOT NULL
       AND entity_type IS NOT NULL AND date >= CAST($1 AS DATE) ORDER BY date DESC LIMIT ${ROWS_MAX})
     UNION ALL (SELECT entity_type FROM metrics WHERE _deleted_at IS NULL AND competitor_id IS NOT NULL
       AND entity_type IS NOT NULL ORDER BY range_to DESC LIMIT ${ROWS_MAX})`,
    [since],
  );
  return found.map(([type]) => String(type));
}
