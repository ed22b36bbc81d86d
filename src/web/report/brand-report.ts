import type { Query } from '../../warehouse/database.ts';
import { literal } from '../../warehouse/schema.ts';

/** Maximum rows of a list in a report. The marts contain all rows. */
const ROWS_MAX = 10;
/** Maximum competitors drawn beside the brand. */
const COMPETITORS_MAX = 5;
/** The normal quantile of a 95 % interval. */
const Z = 1.959963984540054;

/** A share as its numerator and denominator. */
export interface Share {
  readonly part: number;
  readonly whole: number;
}

/** Weekly values of one line; null for a week without anything to count. */
export interface Weekly {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly lower?: readonly (number | null)[];
  readonly upper?: readonly (number | null)[];
}

/** Data of a brand's report. Shares are fractions; days are `YYYY-MM-DD` (UTC); weeks are named by their Monday. */
export interface BrandReport {
  readonly id: string;
  readonly name: string;
  /** The two periods that are compared; null until one day with responses is complete. */
  readonly periods: { readonly recentFrom: string; readonly to: string; readonly beforeFrom: string } | null;
  readonly recent: Headline;
  readonly before: Headline;
  readonly weeks: readonly string[];
  readonly visibility: Weekly;
  readonly engines: readonly Weekly[];
  readonly shareOfVoice: readonly Weekly[];
  readonly sessions: Weekly;
  readonly byEngine: readonly (Share & { readonly name: string; readonly lower: number; readonly upper: number })[];
  readonly byEntity: readonly (Share & { readonly name: string; readonly isOwn: boolean })[];
  readonly risers: readonly Mover[];
  readonly fallers: readonly Mover[];
  readonly lost: readonly { readonly text: string; readonly days: number; readonly answers: number }[];
  readonly citations: readonly Weekly[];
  readonly domains: readonly (Share & { readonly domain: string; readonly owner: string })[];
  readonly gaps: readonly (Share & { readonly domain: string })[];
}

/** Key figures of a period. */
export interface Headline {
  readonly visibility: Share;
  readonly voice: Share;
  readonly position: Share;
  readonly owned: Share;
  /** Sessions referred by AI; null if there is no traffic report. */
  readonly sessions: number | null;
}

/** A prompt whose visibility changed. */
export interface Mover {
  readonly text: string;
  readonly before: Share;
  readonly recent: Share;
}

/** Returns the brands of a workspace, ordered by name. */
export async function readBrands(query: Query): Promise<{ id: string; name: string }[]> {
  const rows = await query('SELECT CAST(brand_id AS VARCHAR), name FROM mart.dim_brand ORDER BY name, brand_id');
  return rows.map(([id, name]) => ({ id: String(id), name: String(name ?? id) }));
}

/** Reads a brand's report from the marts, for the last `weeks` complete weeks that have responses. */
export async function readBrandReport(
  query: Query,
  brand: { readonly id: string; readonly name: string },
  weeks: number,
): Promise<BrandReport> {
  const of = `brand_id = CAST(${literal(brand.id)} AS UUID)`;
  const [period] = await query(
    `SELECT CAST(recent_from AS VARCHAR), CAST(anchor_day AS VARCHAR), CAST(before_from AS VARCHAR), CAST(before_to AS VARCHAR)
     FROM mart.periods WHERE ${of}`,
  );
  const [recentFrom, to, beforeFrom, beforeTo] = (period ?? []).map(String);
  const headline = (from: string | undefined, until: string | undefined): Promise<Headline> =>
    from === undefined || until === undefined ? Promise.resolve(nothing) : readHeadline(query, of, from, until);
  const isPeriod = recentFrom !== undefined && to !== undefined && beforeFrom !== undefined;
  const recentDays = isPeriod ? `day BETWEEN ${literal(recentFrom)} AND ${literal(to)}` : 'false';
  const shown = await readWeeks(query, of, weeks);
  return {
    ...brand,
    periods: isPeriod ? { recentFrom, to, beforeFrom } : null,
    recent: await headline(recentFrom, to),
    before: await headline(beforeFrom, beforeTo),
    weeks: shown,
    ...(await readLines(query, of, shown, brand.name)),
    ...(await readRanks(query, of, recentDays, brand.name)),
    ...(await readPrompts(query, of)),
    ...(await readSources(query, of, recentDays, shown)),
  };
}

const none: Share = { part: 0, whole: 0 };
const nothing: Headline = { visibility: none, voice: none, position: none, owned: none, sessions: null };

async function readHeadline(query: Query, of: string, from: string, to: string): Promise<Headline> {
  const days = `day BETWEEN ${literal(from)} AND ${literal(to)}`;
  const [answers = []] = await query(
    `SELECT sum(mentions), sum(responses), sum(position_sum), sum(placed) FROM mart.answers_daily WHERE ${of} AND ${days}`,
  );
  const [voice = []] = await query(
    `SELECT sum(mentions) FILTER (entity_type = 'brand'), sum(mentions) FROM mart.mentions_daily WHERE ${of} AND ${days}`,
  );
  const [cited = []] = await query(
    `SELECT sum(citations) FILTER (d.owner = 'owned'), sum(citations) FROM mart.cited_domains_all c
     JOIN mart.dim_brand b USING (brand_id)
     LEFT JOIN mart.dim_domain d USING (brand_id, domain) WHERE ${of} AND b.host IS NOT NULL AND ${days}`,
  );
  const [visits = []] = await query(`SELECT sum(sessions) FROM mart.fct_traffic_daily WHERE ${of} AND ${days}`);
  return {
    visibility: share(answers[0], answers[1]),
    voice: share(voice[0], voice[1]),
    position: share(answers[2], answers[3]),
    owned: share(cited[0], cited[1]),
    sessions: visits[0] === null || visits[0] === undefined ? null : Number(visits[0]),
  };
}

// Excludes the current week, because an incomplete week would look like a drop.
async function readWeeks(query: Query, of: string, weeks: number): Promise<string[]> {
  const rows = await query(
    `SELECT CAST(week AS VARCHAR) FROM mart.visibility_weekly WHERE ${of} AND scope = 'all engines' AND is_complete
     ORDER BY week DESC LIMIT ${weeks}`,
  );
  const [newest, oldest] = [rows[0]?.[0], rows.at(-1)?.[0]];
  if (newest === undefined || oldest === undefined) return [];
  const all = await query(
    `SELECT CAST(CAST(unnest(range(CAST(${literal(String(oldest))} AS DATE), CAST(${literal(String(newest))} AS DATE) + INTERVAL 1 DAY, INTERVAL 7 DAY)) AS DATE) AS VARCHAR)`,
  );
  return all.map(([week]) => String(week)).slice(-weeks);
}

async function readLines(query: Query, of: string, weeks: readonly string[], brandName: string) {
  const since = `week >= ${literal(weeks[0] ?? '9999-12-31')}`;
  const visible = await query(
    `SELECT CAST(week AS VARCHAR), scope, engine, visibility, visibility_lower, visibility_upper
     FROM mart.visibility_weekly WHERE ${of} AND ${since} ORDER BY engine`,
  );
  const all = visible.filter(([, scope]) => scope === 'all engines');
  const perEngine = visible.filter(([, scope]) => scope !== 'all engines');
  const engines = [...new Set(perEngine.map(([, , engine]) => engine))];
  const voices = await query(
    `SELECT CAST(week AS VARCHAR), entity_type = 'brand', coalesce(CAST(competitor_id AS VARCHAR), ''), name, share_of_voice, mentions
     FROM mart.share_of_voice WHERE ${of} AND scope = 'all engines' AND ${since}`,
  );
  const sessions = await query(
    `SELECT CAST(CAST(date_trunc('week', day) AS DATE) AS VARCHAR) AS week, sum(sessions) FROM mart.fct_traffic_daily
     WHERE ${of} GROUP BY 1`,
  );
  const byWeek = (rows: readonly (readonly unknown[])[], column: number): (number | null)[] => {
    const values = new Map(rows.map((row) => [String(row[0]), toNumber(row[column])]));
    return weeks.map((week) => values.get(week) ?? null);
  };
  return {
    visibility: { name: brandName, values: byWeek(all, 3), lower: byWeek(all, 4), upper: byWeek(all, 5) },
    engines: engines.map((slug) => {
      const rows = perEngine.filter(([, , engine]) => engine === slug);
      return {
        name: String(slug ?? 'unknown'),
        values: byWeek(rows, 3),
        lower: byWeek(rows, 4),
        upper: byWeek(rows, 5),
      };
    }),
    shareOfVoice: loudest(voices).map(({ name, rows }) => ({ name: name ?? brandName, values: byWeek(rows, 4) })),
    sessions: { name: 'Sessions', values: byWeek(sessions, 1) },
  };
}

// The brand first, then the competitors with the most mentions.
function loudest(voices: readonly (readonly unknown[])[]) {
  const own = voices.filter(([, isOwn]) => isOwn === true);
  const others = new Map<string, (readonly unknown[])[]>();
  for (const row of voices) {
    if (row[1] === true) continue;
    const id = String(row[2]);
    others.set(id, [...(others.get(id) ?? []), row]);
  }
  const ranked = [...others.values()]
    .map((rows) => ({ name: String(rows[0]?.[3] ?? ''), rows, mentions: sumOf(rows.map((row) => toNumber(row[5]))) }))
    .sort((a, b) => b.mentions - a.mentions)
    .slice(0, COMPETITORS_MAX);
  return [...(own.length === 0 ? [] : [{ name: null, rows: own }]), ...ranked];
}

async function readRanks(query: Query, of: string, recent: string, brandName: string) {
  const engines = await query(
    `SELECT engine, sum(mentions), sum(responses) FROM mart.answers_daily WHERE ${of} AND ${recent} GROUP BY engine ORDER BY engine`,
  );
  const entities = await query(
    `SELECT any_value(m.entity_type) = 'brand', any_value(c.name), sum(m.mentions) AS mentions FROM mart.mentions_daily m
     LEFT JOIN mart.dim_competitor c USING (brand_id, competitor_id) WHERE ${of} AND ${recent}
     GROUP BY m.entity_type, m.competitor_id ORDER BY mentions DESC LIMIT ${ROWS_MAX}`,
  );
  const [total = []] = await query(`SELECT sum(mentions) FROM mart.mentions_daily WHERE ${of} AND ${recent}`);
  return {
    byEngine: engines.map(([name, mentions, responses]) => {
      const counted = share(mentions, responses);
      return { name: String(name ?? 'unknown'), ...counted, ...wilson(counted) };
    }),
    byEntity: entities.map(([isOwn, name, mentions]) => ({
      name: isOwn === true ? brandName : String(name ?? 'unknown'),
      isOwn: isOwn === true,
      ...share(mentions, total[0]),
    })),
  };
}

async function readPrompts(query: Query, of: string) {
  const movers = async (order: string): Promise<Mover[]> => {
    const rows = await query(
      `SELECT text, before_mentions, before_responses, recent_mentions, recent_responses FROM mart.prompt_movers
       WHERE ${of} AND scope = 'all engines' AND change ${order} LIMIT ${ROWS_MAX}`,
    );
    return rows.map(([text, was, ofWas, is, ofIs]) => ({
      text: String(text ?? ''),
      before: share(was, ofWas),
      recent: share(is, ofIs),
    }));
  };
  const lost = await query(
    `SELECT text, streak_days, streak_responses FROM mart.lost_prompts WHERE ${of} AND scope = 'all engines' AND active
     ORDER BY streak_responses DESC, text LIMIT ${ROWS_MAX}`,
  );
  return {
    risers: await movers('> 0 ORDER BY change DESC, recent_responses DESC, text'),
    fallers: await movers('< 0 ORDER BY change, recent_responses DESC, text'),
    lost: lost.map(([text, days, answers]) => ({
      text: String(text ?? ''),
      days: Number(days),
      answers: Number(answers),
    })),
  };
}

/** Label of pages whose host belongs to no known owner. */
export const OTHERS = 'others';
/** Label of each page owner in the marts, in display order. */
const OWNERS = { owned: 'own', competitor: "competitors'", 'third party': "third parties'", unknown: OTHERS } as const;
type Owner = keyof typeof OWNERS;

async function readSources(query: Query, of: string, recent: string, weeks: readonly string[]) {
  const shares = await query(
    `SELECT CAST(week AS VARCHAR), owner, share FROM mart.citation_share WHERE ${of} AND scope = 'all engines'`,
  );
  const owners = (Object.keys(OWNERS) as Owner[]).filter((owner) => shares.some((row) => row[1] === owner));
  const domains = await query(
    `SELECT c.domain, any_value(d.owner), sum(c.citations) AS citations, sum(sum(c.citations)) OVER () AS every
     FROM mart.cited_domains_all c LEFT JOIN mart.dim_domain d USING (brand_id, domain)
     WHERE ${of} AND ${recent} GROUP BY c.domain ORDER BY citations DESC, c.domain LIMIT ${ROWS_MAX}`,
  );
  const gaps = await query(
    `SELECT domain, gap_responses, gap_responses_of_all FROM mart.source_gaps WHERE ${of} AND scope = 'all engines'
     ORDER BY gap_responses DESC, domain LIMIT ${ROWS_MAX}`,
  );
  return {
    citations: owners.map((owner) => ({
      name: OWNERS[owner],
      values: weeks.map((week) => toNumber(shares.find((row) => row[0] === week && row[1] === owner)?.[2])),
    })),
    domains: domains.map(([domain, owner, citations, every]) => ({
      domain: String(domain),
      owner: OWNERS[String(owner) as Owner] ?? OTHERS,
      ...share(citations, every),
    })),
    gaps: gaps.map(([domain, part, whole]) => ({ domain: String(domain), ...share(part, whole) })),
  };
}

/**
 * Returns the 95 % Wilson score interval of a share, as fractions; 0 to 1 if `whole` is 0. E. B. Wilson, "Probable
 * inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212.
 */
export function wilson({ part, whole }: Share): { lower: number; upper: number } {
  if (whole === 0) return { lower: 0, upper: 1 };
  const rate = part / whole;
  const middle = rate + (Z * Z) / (2 * whole);
  const reach = Z * Math.sqrt((rate * (1 - rate)) / whole + (Z * Z) / (4 * whole * whole));
  const scale = 1 + (Z * Z) / whole;
  return { lower: Math.max(0, (middle - reach) / scale), upper: Math.min(1, (middle + reach) / scale) };
}

function share(part: unknown, whole: unknown): Share {
  return { part: toNumber(part) ?? 0, whole: toNumber(whole) ?? 0 };
}

function toNumber(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function sumOf(values: readonly (number | null)[]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}
