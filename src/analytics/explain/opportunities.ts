import type { Query } from '../../warehouse/database.ts';
import type { DayRange } from '../model/scope-sql.ts';
import { quotedName } from './sentences.ts';

/** Kinds of opportunities. */
export const OPPORTUNITY_KINDS = ['source_gap', 'competitor_wins', 'forum_thread', 'page_cited_once'] as const;

/** A kind of opportunity. */
export type OpportunityKind = (typeof OPPORTUNITY_KINDS)[number];

/** A way to raise the visibility of a brand. */
export interface Opportunity {
  readonly rank: number;
  readonly kind: OpportunityKind;
  /** Domain, prompt, thread or page. */
  readonly id: string;
  readonly name: string;
  /** Responses that it concerns; the rank follows from it. */
  readonly n: number;
  readonly sentence: string;
  /** Ids of at most 5 responses, newest first. */
  readonly evidence: readonly string[];
}

/** Maximum number of opportunities of each kind. */
const LISTED_MAX = 50;
/** Minimum number of responses that cite a domain of a source gap. */
const GAP_LEAST = 3;
/**
 * Least z of the sign test for a prompt that a competitor wins, with a continuity correction: a two-sided p value of 0.05. The test
 * counts the responses that mention only one of the two.
 */
const SIGN_Z = 1.959963984540054;

// The responses of the range, the tracked competitors that each mentions, and the pages that it cites.
const RANGE = `brand_id = CAST($1 AS UUID) AND created_at >= CAST($2 || ' 00:00:00+00' AS TIMESTAMPTZ)
      AND created_at < CAST($3 || ' 00:00:00+00' AS TIMESTAMPTZ) + INTERVAL 24 HOUR`;
const TABLES = `WITH asked AS (
    SELECT response_id, prompt_id, created_at, brand_mentioned FROM mart.fct_response WHERE ${RANGE}
  ), rivals AS (
    SELECT response_id, competitor_id FROM mart.fct_entity_mention WHERE entity_type = 'competitor' AND ${RANGE}
  ), cited AS (
    SELECT response_id, created_at, url, domain FROM mart.fct_citation WHERE ${RANGE}
  )`;
// The newest 5 responses of a group. A list of all ids would need memory for every response.
const EVIDENCE = 'CAST(arg_max(response_id, created_at, 5) AS VARCHAR[])';

// Columns: id, name, n, three numbers or texts for the sentence, evidence.
const queries: Readonly<Record<OpportunityKind, string>> = {
  source_gap: `SELECT domain, domain, n, d.owner, NULL, NULL, g.evidence
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
  // Evidence is read for the listed prompts only.
  competitor_wins: `WITH compared AS (
      SELECT a.prompt_id, r.competitor_id, count(*) FILTER (NOT a.brand_mentioned) AS lost,
        any_value(t.mentions) - count(*) FILTER (a.brand_mentioned) AS won, any_value(t.answers) AS answers
      FROM asked a JOIN rivals r USING (response_id)
      JOIN (SELECT prompt_id, count(*) AS answers, count(*) FILTER (brand_mentioned) AS mentions FROM asked GROUP BY prompt_id) t USING (prompt_id)
      GROUP BY a.prompt_id, r.competitor_id
      QUALIFY row_number() OVER (PARTITION BY a.prompt_id ORDER BY lost - won DESC, r.competitor_id) = 1
    ), wins AS MATERIALIZED (
      SELECT c.*, p.text, k.name FROM compared c
      JOIN (SELECT id, any_value(text) AS text FROM main.prompts WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL GROUP BY id) p ON p.id = c.prompt_id
      JOIN mart.dim_competitor k ON k.brand_id = CAST($1 AS UUID) AND k.competitor_id = c.competitor_id
      WHERE lost > won AND (lost - won - 1) / sqrt(lost + won) >= ${SIGN_Z} ORDER BY lost DESC, prompt_id LIMIT ${LISTED_MAX}
    ), shown AS (
      SELECT w.prompt_id, a.response_id, a.created_at
      FROM wins w JOIN asked a USING (prompt_id) JOIN rivals r ON r.response_id = a.response_id AND r.competitor_id = w.competitor_id
      WHERE NOT a.brand_mentioned
      QUALIFY row_number() OVER (PARTITION BY w.prompt_id ORDER BY a.created_at DESC, a.response_id) <= 5
    )
    SELECT CAST(prompt_id AS VARCHAR), text, lost, name, won, answers, evidence
    FROM wins JOIN (
      SELECT prompt_id, CAST(list(response_id ORDER BY created_at DESC, response_id) AS VARCHAR[]) AS evidence FROM shown GROUP BY prompt_id
    ) USING (prompt_id)`,
  forum_thread: `SELECT CAST(f.opportunity_id AS VARCHAR), any_value(f.title), count(DISTINCT c.response_id) AS n, any_value(f.status),
      any_value(f.subforum), NULL, CAST(list(DISTINCT c.response_id)[:5] AS VARCHAR[])
    FROM mart.fct_forum f
    JOIN cited c ON rtrim(regexp_replace(lower(c.url), '^https?://(www\\.)?', ''), '/') = rtrim(regexp_replace(lower(f.url), '^https?://(www\\.)?', ''), '/')
    WHERE f.brand_id = CAST($1 AS UUID) AND f.status NOT IN ('dismissed', 'posted')
    GROUP BY f.opportunity_id`,
  page_cited_once: `SELECT url, url, count(*) AS n, any_value(domain), NULL, NULL, ${EVIDENCE}
    FROM cited WHERE url IS NOT NULL AND domain IN (
      SELECT domain FROM mart.dim_domain WHERE brand_id = CAST($1 AS UUID) AND owner = 'owned'
    ) GROUP BY url HAVING n = 1`,
};

/**
 * Lists opportunities of a brand in a range of days: domains that responses cite for competitors and never for the brand, prompts that
 * a competitor wins significantly, open forum threads that responses cite, and own pages that are cited once. The ones that concern
 * most responses come first.
 */
export async function findOpportunities(
  query: Query,
  brandId: string,
  { from, to }: DayRange,
): Promise<readonly Opportunity[]> {
  const found: Omit<Opportunity, 'rank'>[] = [];
  for (const kind of OPPORTUNITY_KINDS) {
    const rows = await query(
      `${TABLES} SELECT id, name, CAST(n AS BIGINT), CAST(a AS VARCHAR), CAST(b AS VARCHAR), CAST(c AS VARCHAR), CAST(to_json(evidence) AS VARCHAR)
       FROM (${queries[kind]}) t(id, name, n, a, b, c, evidence) ORDER BY n DESC, id`,
      [brandId, from, to],
    );
    found.push(...rows.slice(0, LISTED_MAX).map((row) => toOpportunity(kind, row)));
  }
  found.sort((a, b) => b.n - a.n);
  return found.map((one, index) => ({ rank: index + 1, ...one }));
}

function toOpportunity(kind: OpportunityKind, row: readonly unknown[]): Omit<Opportunity, 'rank'> {
  const [id, name, n, a, b, c, evidence] = row;
  const one = { kind, id: String(id), name: String(name ?? id), n: Number(n) };
  const sentence = sentences[kind](one.name, one.n, a as string | null, b as string | null, c as string | null);
  return { ...one, sentence, evidence: JSON.parse(String(evidence)) as string[] };
}

type Told = (name: string, n: number, a: string | null, b: string | null, c: string | null) => string;

const sentences: Readonly<Record<OpportunityKind, Told>> = {
  source_gap: (name, n, owner) =>
    `${name} (${owner}) is cited by ${n} responses that mention a competitor but not the brand, and by none that mentions the brand.`,
  competitor_wins: (name, n, rival, won, answers) =>
    `Prompt ${quotedName(name)}: ${n} of ${answers} responses mention ${rival} but not the brand, ${won} mention the brand but not ${rival}.`,
  forum_thread: (name, n, status, subforum) =>
    `Forum thread ${quotedName(name)} in ${subforum} (${status}) is cited by ${n} ${n === 1 ? 'response' : 'responses'}.`,
  page_cited_once: (name) =>
    `The page ${name} of the brand is cited once; pages that engines already know may be cited more often.`,
};
