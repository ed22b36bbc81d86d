import type { Query } from '../../warehouse/database.ts';
import { responseSums } from '../model/response-sums.ts';
import type { DayRange } from '../model/scope-sql.ts';
import { twoSidedP } from './normal.ts';
import type { OpportunityKind } from './opportunity-kinds.ts';
import { OPPORTUNITY_KINDS, type Opportunity } from './opportunity.ts';
import { promptEnd, quotedName } from './sentences.ts';
import { adjustPs, ERROR_RATE } from './tests-of-change.ts';

/** Greatest number of queries that `findOpportunities` runs: one for each kind, one more for the prompts that competitors win, and the marks. */
export const OPPORTUNITY_QUERIES = OPPORTUNITY_KINDS.length + 2;

type UnmarkedOpportunity = Omit<Opportunity, 'rank' | 'mark'>;

/** Maximum number of open opportunities of each kind. */
export const LISTED_MAX = 50;
/** Minimum number of responses that cite a domain of a source gap. */
const GAP_LEAST = 3;
// The responses of the range, the tracked competitors that each mentions, and the pages that it cites.
const RANGE = `brand_id = CAST($1 AS UUID) AND created_at >= CAST($2 || ' 00:00:00+00' AS TIMESTAMPTZ)
      AND created_at < CAST($3 || ' 00:00:00+00' AS TIMESTAMPTZ) + INTERVAL 24 HOUR`;
const ASKED = `asked AS (
    SELECT response_id, prompt_id, created_at, brand_mentioned FROM mart.fct_response WHERE ${RANGE}
  ), rivals AS (
    SELECT response_id, competitor_id FROM mart.fct_entity_mention WHERE entity_type = 'competitor' AND ${RANGE}
  )`;
const TABLES = `WITH ${ASKED}, cited AS (
    SELECT response_id, created_at, url, domain FROM mart.fct_citation WHERE ${RANGE}
  )`;
// An address without scheme, www and the last slash.
const pageOf = (url: string): string => `rtrim(regexp_replace(lower(${url}), '^https?://(www\\.)?', ''), '/')`;
// The newest 5 responses of a group. A list of all ids would need memory for every response.
const EVIDENCE = 'CAST(arg_max(response_id, created_at, 5) AS VARCHAR[])';

// Columns: id, name, n, two texts for the sentence, evidence.
const queries: Readonly<Record<Exclude<OpportunityKind, 'competitor_wins'>, string>> = {
  source_gap: `SELECT domain, domain, n, d.owner, NULL, g.evidence
    FROM (
      SELECT domain, count(*) AS n, ${EVIDENCE} AS evidence
      FROM (
        SELECT DISTINCT c.response_id, c.created_at, c.domain FROM cited c
        WHERE c.domain IN (
            SELECT domain FROM mart.dim_domain WHERE brand_id = CAST($1 AS UUID) AND owner NOT IN ('owned', 'competitor')
          ) AND c.domain NOT IN (
            SELECT domain FROM cited JOIN asked USING (response_id) WHERE brand_mentioned AND domain IS NOT NULL
          ) AND c.response_id IN (SELECT response_id FROM rivals)
          AND c.response_id IN (SELECT response_id FROM asked)
      ) GROUP BY domain HAVING n >= ${GAP_LEAST}
    ) g
    JOIN mart.dim_domain d USING (domain)
    WHERE d.brand_id = CAST($1 AS UUID)`,
  forum_thread: `SELECT CAST(f.opportunity_id AS VARCHAR), any_value(f.title), count(*) AS n, any_value(f.status),
      any_value(f.subforum), CAST(arg_max(c.response_id, c.created_at, 5) AS VARCHAR[])
    FROM mart.fct_forum f
    JOIN (SELECT DISTINCT response_id, created_at, ${pageOf('url')} AS page FROM cited) c ON c.page = ${pageOf('f.url')}
    WHERE f.brand_id = CAST($1 AS UUID) AND f.status NOT IN ('dismissed', 'posted')
    GROUP BY f.opportunity_id`,
  page_cited_once: `SELECT url, url, count(*) AS n, NULL, NULL, ${EVIDENCE}
    FROM cited WHERE url IS NOT NULL AND domain IN (
      SELECT domain FROM mart.dim_domain WHERE brand_id = CAST($1 AS UUID) AND owner = 'owned'
    ) GROUP BY url HAVING n = 1`,
};

/**
 * Lists opportunities of a brand in a range of days: domains that responses cite for competitors and never for the brand, prompts that
 * a competitor wins significantly, open forum threads that responses cite, and own pages that are cited once. Open ones come before those
 * that a reader marked, and then the ones that concern most responses.
 */
export async function findOpportunities(
  query: Query,
  brandId: string,
  { from, to }: DayRange,
  kinds: readonly OpportunityKind[] = OPPORTUNITY_KINDS,
): Promise<readonly Opportunity[]> {
  const marks = await query("SELECT kind || ' ' || id, value FROM mart.marks WHERE brand_id = CAST($1 AS UUID)", [
    brandId,
  ]);
  const markOf = new Map(marks.map(([key, value]) => [key, value as Opportunity['mark']]));
  const found: UnmarkedOpportunity[] = [];
  for (const kind of kinds) {
    if (kind === 'competitor_wins') {
      found.push(...(await competitorWins(query, brandId, { from, to }, markOf)));
      continue;
    }
    const rows = await query(
      `${TABLES} SELECT id, name, CAST(n AS BIGINT), CAST(a AS VARCHAR), CAST(b AS VARCHAR), CAST(to_json(evidence) AS VARCHAR)
       FROM (${queries[kind]}) t(id, name, n, a, b, evidence) ORDER BY n DESC, id`,
      [brandId, from, to],
    );
    found.push(...listed(rows, (row) => markOf.has(`${kind} ${row[0]}`)).map((row) => toOpportunity(kind, row)));
  }
  return found
    .map((one) => ({ ...one, mark: markOf.get(`${one.kind} ${one.id}`) ?? null }))
    .sort((a, b) => Number(a.mark !== null) - Number(b.mark !== null) || b.n - a.n)
    .map((one, index) => ({ rank: index + 1, ...one }));
}

// The first open ones, and the marked ones.
function listed<T>(all: readonly T[], isMarked: (one: T) => boolean): T[] {
  let open = 0;
  return all.filter((one) => isMarked(one) || ++open <= LISTED_MAX);
}

// Counts the responses that mention only one of the brand and a competitor, by prompt and competitor.
const COMPARED = `WITH ${ASKED}
  SELECT CAST(prompt_id AS VARCHAR), CAST(competitor_id AS VARCHAR), lost, mentions - joint, answers
  FROM (
    SELECT prompt_id, competitor_id, count(*) FILTER (NOT brand_mentioned) AS lost, ${responseSums.mention_count('brand_mentioned')} AS joint
    FROM asked JOIN rivals USING (response_id) GROUP BY ALL
  ) JOIN (
    SELECT prompt_id, count(*) AS answers, ${responseSums.mention_count('brand_mentioned')} AS mentions FROM asked GROUP BY prompt_id
  ) USING (prompt_id)
  ORDER BY prompt_id, competitor_id`;

// Names and evidence of pairs of a prompt and a competitor, given as JSON. Deleted prompts are left out.
const WON = `WITH ${ASKED}, wins AS MATERIALIZED (
    SELECT CAST(pair->>0 AS UUID) AS prompt_id, CAST(pair->>1 AS UUID) AS competitor_id
    FROM (SELECT unnest(CAST($4 AS JSON[])) AS pair)
  )
  SELECT CAST(w.prompt_id AS VARCHAR), any_value(p.text), any_value(k.name),
    CAST(to_json(list(CAST(w.response_id AS VARCHAR) ORDER BY w.created_at DESC, w.response_id)) AS VARCHAR)
  FROM (
    SELECT prompt_id, competitor_id, response_id, created_at
    FROM wins JOIN asked USING (prompt_id) JOIN rivals USING (response_id, competitor_id) WHERE NOT brand_mentioned
    QUALIFY row_number() OVER (PARTITION BY prompt_id ORDER BY created_at DESC, response_id) <= 5
  ) w
  JOIN main.prompts p ON p.brand_id = CAST($1 AS UUID) AND p.id = w.prompt_id AND p._deleted_at IS NULL
  JOIN mart.dim_competitor k ON k.brand_id = CAST($1 AS UUID) AND k.competitor_id = w.competitor_id
  GROUP BY w.prompt_id`;

interface Compared {
  readonly promptId: string;
  readonly competitorId: string;
  readonly lost: number;
  readonly won: number;
  readonly answers: number;
}

// Tests each prompt and competitor by the sign test with a continuity correction, and corrects for their number (Benjamini and
// Hochberg). A prompt is listed with the competitor that wins it most clearly.
async function competitorWins(
  query: Query,
  brandId: string,
  range: DayRange,
  marks: ReadonlyMap<unknown, unknown>,
): Promise<UnmarkedOpportunity[]> {
  const given = [brandId, range.from, range.to];
  const compared = (await query(COMPARED, given)).map(([promptId, competitorId, ...counts]): Compared => {
    const [lost = 0, won = 0, answers = 0] = counts.map(Number);
    return { promptId: String(promptId), competitorId: String(competitorId), lost, won, answers };
  });
  const adjusted = adjustPs(
    compared.map(({ lost, won }) =>
      lost + won === 0 ? null : twoSidedP((Math.abs(lost - won) - 1) / Math.sqrt(lost + won)),
    ),
  );
  const best = new Map<string, Compared>();
  for (const [index, one] of compared.entries()) {
    if (one.lost <= one.won || (adjusted[index] ?? 1) > ERROR_RATE) continue;
    const other = best.get(one.promptId);
    if (other === undefined || one.lost - one.won > other.lost - other.won) best.set(one.promptId, one);
  }
  const ranked = [...best.values()].sort((a, b) => b.lost - a.lost);
  const pairs = listed(ranked, ({ promptId }) => marks.has(`competitor_wins ${promptId}`)).map(
    ({ promptId, competitorId }) => [promptId, competitorId],
  );
  const named = pairs.length === 0 ? [] : await query(WON, [...given, JSON.stringify(pairs)]);
  return named.flatMap(([id, text, rival, evidence]) => {
    const one = best.get(String(id));
    if (one === undefined) return [];
    const name = String(text ?? id);
    const sentence = `${one.lost} of ${one.answers} responses mention ${rival} but not the brand, ${one.won} mention the brand but not ${rival}${promptEnd(name)}`;
    const shown = JSON.parse(String(evidence)) as string[];
    return { kind: 'competitor_wins' as const, id: one.promptId, name, n: one.lost, sentence, evidence: shown };
  });
}

function toOpportunity(kind: keyof typeof queries, row: readonly unknown[]): UnmarkedOpportunity {
  const [id, name, n, a, b, evidence] = row;
  const one = { kind, id: String(id), name: String(name ?? id), n: Number(n) };
  const sentence = sentences[kind](one.name, one.n, a as string | null, b as string | null);
  return { ...one, sentence, evidence: JSON.parse(String(evidence)) as string[] };
}

type Sentence = (name: string, n: number, a: string | null, b: string | null) => string;

const sentences: Readonly<Record<keyof typeof queries, Sentence>> = {
  source_gap: (name, n, owner) =>
    `${name}${owner === 'unknown' ? '' : ` (${owner})`} is cited by ${n} responses that mention a competitor but not the brand, and by none that mentions the brand.`,
  forum_thread: (name, n, status, subforum) =>
    `Forum thread ${quotedName(name)} in ${subforum} (${status}) is cited by ${n} ${n === 1 ? 'response' : 'responses'}.`,
  page_cited_once: (name) =>
    `The page ${name} of the brand is cited once; pages that engines already know may be cited more often.`,
};
