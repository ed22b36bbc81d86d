import type { Query } from '../../warehouse/database.ts';
import { literal } from '../../warehouse/schema.ts';
import { type Share, share } from './share.ts';

/** Maximum rows of a list in a report. The marts contain all rows. */
export const ROWS_MAX = 10;

/** Sentiment of a month's mentions; null without a mention that has a label of known worth. */
export interface MonthlySentiment {
  /** First day of the month, `YYYY-MM-DD`. */
  readonly month: string;
  readonly labelled: number;
  readonly positive: number | null;
  readonly neutral: number | null;
  readonly negative: number | null;
}

/** An alert that the service raised. */
export interface Alert {
  readonly day: string;
  readonly type: string;
  readonly headline: string;
  readonly detail: string;
  readonly previous: number | null;
  readonly current: number | null;
}

/** A forum thread that engines cite or that the brand could join. */
export interface Opportunity {
  readonly title: string;
  readonly url: string;
  readonly subforum: string;
  readonly type: string;
  readonly status: string;
  readonly comments: number | null;
  readonly promotionPolicy: string;
}

/** A prompt that competitors won responses of, with its open actions. `lost` counts the responses of 14 days. */
export interface ActionPlan {
  readonly prompt: string;
  readonly lost: Share;
  readonly winners: readonly string[];
  readonly actions: number;
  /** Titles of the actions that are not done. */
  readonly open: readonly string[];
}

/** An article that the service wrote. Days are `YYYY-MM-DD`. */
export interface Article {
  readonly title: string;
  readonly status: string;
  readonly words: number | null;
  readonly created: string | null;
  readonly completed: string | null;
}

/** A list with the number of all its rows; `rows` has at most `ROWS_MAX` of them. */
export interface Listed<T> {
  readonly all: number;
  readonly rows: readonly T[];
}

/** Lists of a brand's report beside the numbers that are computed from responses. */
export interface ReportLists {
  readonly sentiment: readonly MonthlySentiment[];
  readonly alerts: Listed<Alert>;
  readonly opportunities: Listed<Opportunity>;
  readonly plans: Listed<ActionPlan>;
  readonly articles: Listed<Article>;
}

/** Reads the lists of a brand. `of` is the SQL condition of the brand; sentiment begins with the month of `since`. */
export async function readLists(query: Query, of: string, since: string): Promise<ReportLists> {
  const months = await query(
    `SELECT CAST(month AS VARCHAR), labelled, positive / nullif(labelled, 0), neutral / nullif(labelled, 0),
       negative / nullif(labelled, 0)
     FROM mart.net_sentiment_monthly
     WHERE ${of} AND scope = 'all engines' AND month >= date_trunc('month', CAST(${literal(since)} AS DATE)) ORDER BY month`,
  );
  return {
    sentiment: months.map(([month, labelled, ...parts]) => {
      const [positive = null, neutral = null, negative = null] = parts.map(toNumber);
      return { month: String(month), labelled: Number(labelled), positive, neutral, negative };
    }),
    alerts: await readAlerts(query, of),
    opportunities: await readOpportunities(query, of),
    plans: await readPlans(query, of),
    articles: await readArticles(query, of),
  };
}

async function readAlerts(query: Query, of: string): Promise<Listed<Alert>> {
  const rows = await query(
    `SELECT count(*) OVER (), CAST(day AS VARCHAR), type, headline, detail, previous, "current" FROM mart.fct_alert
     WHERE ${of} AND day IS NOT NULL ORDER BY detected_at DESC, alert_id LIMIT ${ROWS_MAX}`,
  );
  return listed(rows, ([day, type, headline, detail, previous, current]) => ({
    day: String(day),
    type: toText(type).replaceAll('_', ' '),
    headline: toText(headline),
    detail: toText(detail),
    previous: toNumber(previous),
    current: toNumber(current),
  }));
}

// Threads that were dismissed or answered need no action.
async function readOpportunities(query: Query, of: string): Promise<Listed<Opportunity>> {
  const rows = await query(
    `SELECT count(*) OVER (), title, url, subforum, type, status, comments, promotion_policy FROM mart.fct_forum
     WHERE ${of} AND coalesce(status, '') NOT IN ('dismissed', 'posted')
     ORDER BY created_at DESC, opportunity_id LIMIT ${ROWS_MAX}`,
  );
  return listed(rows, ([title, url, subforum, type, status, comments, policy]) => ({
    title: toText(title),
    url: toText(url),
    subforum: toText(subforum),
    type: toText(type),
    status: toText(status),
    comments: toNumber(comments),
    promotionPolicy: toText(policy),
  }));
}

async function readPlans(query: Query, of: string): Promise<Listed<ActionPlan>> {
  const rows = await query(
    `SELECT count(*) OVER (), p.prompt, p.lost, p.answers, CAST(p.winners AS VARCHAR),
       p.actions, (SELECT CAST(to_json(list(a.title ORDER BY a.ordinal)) AS VARCHAR) FROM mart.fct_action a
        WHERE a.brand_id = p.brand_id AND a.prompt_id = p.prompt_id AND NOT coalesce(a.done, false))
     FROM mart.fct_action_plan p WHERE ${of}
     ORDER BY p.lost DESC NULLS LAST, p.prompt LIMIT ${ROWS_MAX}`,
  );
  return listed(rows, ([prompt, lost, answers, winners, actions, open]) => ({
    prompt: toText(prompt),
    lost: share(lost, answers),
    winners: toTexts(winners),
    actions: Number(actions ?? 0),
    open: toTexts(open),
  }));
}

async function readArticles(query: Query, of: string): Promise<Listed<Article>> {
  const rows = await query(
    `SELECT count(*) OVER (), title, status, word_count, CAST(day AS VARCHAR),
       CAST(CAST(completed_at AS DATE) AS VARCHAR)
     FROM mart.fct_article WHERE ${of} ORDER BY created_at DESC NULLS LAST, article_id LIMIT ${ROWS_MAX}`,
  );
  return listed(rows, ([title, status, words, created, completed]) => ({
    title: toText(title),
    status: toText(status),
    words: toNumber(words),
    created: created === null ? null : String(created),
    completed: completed === null ? null : String(completed),
  }));
}

function listed<T>(rows: readonly (readonly unknown[])[], read: (row: readonly unknown[]) => T): Listed<T> {
  return { all: Number(rows[0]?.[0] ?? 0), rows: rows.map(([, ...row]) => read(row)) };
}

function toText(value: unknown): string {
  return value === null || value === undefined ? '' : String(value);
}

// Parses a JSON list of texts; null and unexpected values give an empty list.
function toTexts(json: unknown): string[] {
  const parsed: unknown = typeof json === 'string' ? JSON.parse(json) : null;
  return Array.isArray(parsed) ? parsed.filter((text) => typeof text === 'string') : [];
}

function toNumber(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}
