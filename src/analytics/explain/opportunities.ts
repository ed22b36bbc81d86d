import type { Query } from '../../warehouse/database.ts';
import type { DayRange } from '../model/scope-sql.ts';
import { twoSidedP } from './normal.ts';
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
/** Maximum two-sided p-value of the sign test for a prompt that a competitor wins. */
const P_MAX = 0.05;

// The responses of the range, and in `rivals` the tracked competitors that each mentions.
const TABLES = `WITH asked AS MATERIALIZED (
    SELECT * FROM mart.fct_response WHERE brand_id = CAST($1 AS UUID) AND day BETWEEN CAST($2 AS DATE) AND CAST($3 AS DATE)
  ), rivals AS MATERIALIZED (
    SELECT m.response_id, m.competitor_id FROM mart.fct_entity_mention m SEMI JOIN asked USING (response_id)
    WHERE m.entity_type = 'competitor' AND m.brand_id = CAST($1 AS UUID)
  ), cited AS MATERIALIZED (
    SELECT c.response_id, c.created_at, c.url, c.domain, a.brand_mentioned
    FROM mart.fct_citation c JOIN asked a USING (response_id) WHERE c.brand_id = CAST($1 AS UUID)
  )`;
/** The newest 5 responses of a group. */
const EVIDENCE = 'CAST(list(response_id ORDER BY created_at DESC, response_id)[:5] AS VARCHAR[])';

// Columns: id, name, n, three numbers or texts for the sentence, evidence.
const queries: Readonly<Record<OpportunityKind, string>> = {
  source_gap: `SELECT domain, domain, n, d.owner, NULL, NULL, g.evidence
    FROM (
      SELECT domain, count(*) AS n, ${EVIDENCE} AS evidence
      FROM (SELECT DISTINCT response_id, created_at, domain FROM cited WHERE domain IS NOT NULL AND NOT brand_mentioned) c
      WHERE response_id IN (SELECT response_id FROM rivals)
      GROUP BY domain HAVING n >= ${GAP_LEAST}
    ) g
    JOIN mart.dim_domain d USING (domain)
    WHERE d.brand_id = CAST($1 AS UUID) AND d.owner NOT IN ('owned', 'competitor')
      AND domain NOT IN (SELECT domain FROM cited WHERE brand_mentioned AND domain IS NOT NULL)`,
  competitor_wins: `SELECT CAST(prompt_id AS VARCHAR), any_value(p.text), lost AS n, any_value(k.name), won, answers, evidence
    FROM (
      SELECT a.prompt_id, r.competitor_id, count(*) FILTER (NOT a.brand_mentioned) AS lost, any_value(t.answers) AS answers,
        any_value(t.mentions) - count(*) FILTER (a.brand_mentioned) AS won,
        CAST((list(a.response_id ORDER BY a.created_at DESC, a.response_id) FILTER (NOT a.brand_mentioned))[:5] AS VARCHAR[]) AS evidence
      FROM asked a JOIN rivals r USING (response_id)
      JOIN (SELECT prompt_id, count(*) AS answers, count(*) FILTER (brand_mentioned) AS mentions FROM asked GROUP BY prompt_id) t USING (prompt_id)
      GROUP BY a.prompt_id, r.competitor_id
      QUALIFY row_number() OVER (PARTITION BY a.prompt_id ORDER BY lost - won DESC, r.competitor_id) = 1
    ) w
    JOIN main.prompts p ON p.brand_id = CAST($1 AS UUID) AND p.id = w.prompt_id AND p._deleted_at IS NULL
    JOIN mart.dim_competitor k ON k.brand_id = CAST($1 AS UUID) AND k.competitor_id = w.competitor_id
    WHERE lost > won GROUP BY prompt_id, lost, won, answers, evidence`,
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
    const all = rows.flatMap((row) => toOpportunity(kind, row));
    found.push(...all.slice(0, LISTED_MAX));
  }
  found.sort((a, b) => b.n - a.n);
  return found.map((one, index) => ({ rank: index + 1, ...one }));
}

function toOpportunity(kind: OpportunityKind, row: readonly unknown[]): Omit<Opportunity, 'rank'>[] {
  const [id, name, n, a, b, c, evidence] = row;
  const number = Number(n);
  if (kind === 'competitor_wins' && signP(number, Number(b)) > P_MAX) return [];
  const one = { kind, id: String(id), name: String(name ?? id), n: number };
  const sentence = sentences[kind](one.name, number, a as string | null, b as string | null, c as string | null);
  return [{ ...one, sentence, evidence: JSON.parse(String(evidence)) as string[] }];
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

// Sign test of the responses that mention only one of the two, with a continuity correction.
function signP(lost: number, won: number): number {
  return twoSidedP((Math.abs(lost - won) - 1) / Math.sqrt(lost + won));
}
