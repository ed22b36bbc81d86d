import type { Query } from '../../warehouse/database.ts';
import { literal } from '../../warehouse/schema.ts';
import { type ReportLists, ROWS_MAX, readLists } from './report-lists.ts';
import { type Share, share, wilson } from './share.ts';

/** Maximum competitors drawn beside the brand. */
const COMPETITORS_MAX = 5;

/** Weekly values of one line; null for a week without anything to count. */
export interface Weekly {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly lower?: readonly (number | null)[];
  readonly upper?: readonly (number | null)[];
}

/** Data of a brand's report. Shares are fractions; days are `YYYY-MM-DD` (UTC); weeks are named by their Monday. */
export interface BrandReport extends ReportLists {
  readonly id: string;
  readonly name: string;
  /** The two periods that are compared; null until one day with responses is complete. */
  readonly periods: Periods | null;
  /** Current prompts, and stored responses of any day. */
  readonly prompts: number;
  readonly responses: number;
  /** Measures without data in both periods are left out. */
  readonly figures: readonly Figure[];
  /** Sessions referred by AI in each period; null if there is no traffic report. */
  readonly visits: { readonly before: number | null; readonly recent: number | null };
  readonly weeks: readonly string[];
  readonly visibility: Weekly;
  readonly engines: readonly Weekly[];
  readonly shareOfVoice: readonly Weekly[];
  readonly sessions: Weekly;
  readonly byEngine: readonly (Share & { readonly name: string; readonly lower: number; readonly upper: number })[];
  readonly byEntity: readonly (Share & { readonly name: string; readonly isOwn: boolean })[];
  readonly movers: readonly Mover[];
  /** Prompts that were tested for a change, and for being lost. */
  readonly tested: number;
  readonly lost: readonly LostPrompt[];
  readonly citations: readonly Weekly[];
  readonly domains: readonly (Share & { readonly domain: string; readonly owner: string })[];
  readonly gaps: readonly (Share & { readonly domain: string })[];
}

/** The two periods that are compared, both days included. */
export interface Periods {
  readonly recentFrom: string;
  readonly to: string;
  readonly beforeFrom: string;
  readonly beforeTo: string;
}

/** The measures of `mart.brand_changes`. */
export type Measure = 'visibility' | 'share_of_voice' | 'position' | 'net_sentiment' | 'owned_citations';

/** An interval of the change of a value, with its level. `isSignificant` is true if it excludes zero. */
export interface Change {
  readonly lower: number;
  readonly upper: number;
  readonly isSignificant: boolean;
}

/** A key figure in both periods. `change` is null without enough responses in both. */
export interface Figure {
  readonly measure: Measure;
  readonly before: Share;
  readonly recent: Share;
  readonly change: Change | null;
}

/** A prompt whose visibility changed significantly. Bounds are fractions. */
export interface Mover {
  readonly text: string;
  readonly before: Share;
  readonly recent: Share;
  readonly lower: number;
  readonly upper: number;
}

/** A prompt that no longer mentions the brand. Bounds are those of its visibility before and since, as fractions. */
export interface LostPrompt {
  readonly text: string;
  readonly days: number;
  readonly earlier: Share;
  readonly lower: number;
  readonly upper: number;
  /** Responses since the last mention. */
  readonly responses: number;
  readonly sinceUpper: number;
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
  const [recentFrom, to, beforeFrom, beforeTo] = (period ?? []).map(String) as [string?, string?, string?, string?];
  const isPeriod = recentFrom !== undefined && to !== undefined && beforeFrom !== undefined && beforeTo !== undefined;
  const recentDays = isPeriod ? `day BETWEEN ${literal(recentFrom)} AND ${literal(to)}` : 'false';
  const shown = await readWeeks(query, of, weeks);
  const [counts = []] = await query(
    `SELECT (SELECT count(*) FROM mart.dim_prompt WHERE ${of} AND is_listed),
       (SELECT sum(responses) FROM mart.answers_daily WHERE ${of})`,
  );
  const visitsOf = async (from?: string, until?: string): Promise<number | null> => {
    if (from === undefined || until === undefined) return null;
    const days = `day BETWEEN ${literal(from)} AND ${literal(until)}`;
    const [visits = []] = await query(`SELECT sum(sessions) FROM mart.fct_traffic_daily WHERE ${of} AND ${days}`);
    return toNumber(visits[0]);
  };
  return {
    ...brand,
    periods: isPeriod ? { recentFrom, to, beforeFrom, beforeTo } : null,
    prompts: Number(counts[0] ?? 0),
    responses: Number(counts[1] ?? 0),
    figures: await readFigures(query, of),
    visits: { before: await visitsOf(beforeFrom, beforeTo), recent: await visitsOf(recentFrom, to) },
    weeks: shown,
    ...(await readLines(query, of, shown, brand.name)),
    ...(await readRanks(query, of, recentDays, brand.name)),
    ...(await readPrompts(query, of)),
    ...(await readSources(query, of, recentDays, shown)),
    ...(await readLists(query, of, shown[0] ?? recentFrom ?? '9999-12-31')),
  };
}

async function readFigures(query: Query, of: string): Promise<Figure[]> {
  const rows = await query(
    `SELECT measure, before_part, before_whole, recent_part, recent_whole, change_lower, change_upper, is_significant
     FROM mart.brand_changes WHERE ${of}`,
  );
  return rows.map(([measure, part, whole, recentPart, recentWhole, lower, upper, isSignificant]) => ({
    measure: String(measure) as Measure,
    before: share(part, whole),
    recent: share(recentPart, recentWhole),
    change:
      lower === null || upper === null
        ? null
        : { lower: Number(lower), upper: Number(upper), isSignificant: isSignificant === true },
  }));
}

// Excludes the current week and a first week that begins before the first response, because incomplete weeks would look
// like a drop and a rise.
async function readWeeks(query: Query, of: string, weeks: number): Promise<string[]> {
  const rows = await query(
    `SELECT CAST(week AS VARCHAR) FROM mart.visibility_weekly WHERE ${of} AND scope = 'all engines' AND is_complete
       AND week >= (SELECT min(day) FROM mart.answers_daily WHERE ${of})
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
  const all = `${of} AND scope = 'all engines'`;
  const directions = ['change > 0', 'change < 0'].map((direction) =>
    query(
      `SELECT text, before_mentions, before_responses, recent_mentions, recent_responses, change_lower, change_upper
       FROM mart.prompt_movers WHERE ${all} AND ${direction} ORDER BY abs(change) DESC, text LIMIT ${ROWS_MAX}`,
    ),
  );
  const moved = (await Promise.all(directions)).flat();
  const [tested] = await query(`SELECT max(tested) FROM mart.prompt_changes WHERE ${all}`);
  const lost = await query(
    `SELECT text, streak_days, mentions, earlier_responses, earlier_lower, earlier_upper, streak_responses, streak_upper
     FROM mart.lost_prompts WHERE ${all} AND active ORDER BY adjusted_p, streak_responses DESC, text LIMIT ${ROWS_MAX}`,
  );
  return {
    movers: moved.map(([text, was, ofWas, is, ofIs, lower, upper]) => ({
      text: String(text ?? ''),
      before: share(was, ofWas),
      recent: share(is, ofIs),
      lower: Number(lower),
      upper: Number(upper),
    })),
    tested: Number(tested?.[0] ?? 0),
    lost: lost.map(([text, days, mentions, responses, lower, upper, streak, sinceUpper]) => ({
      text: String(text ?? ''),
      days: Number(days),
      earlier: share(mentions, responses),
      lower: Number(lower),
      upper: Number(upper),
      responses: Number(streak),
      sinceUpper: Number(sinceUpper),
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

function toNumber(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function sumOf(values: readonly (number | null)[]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}
