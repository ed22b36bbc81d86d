import type { Catalogue } from '../../contract/catalogue.ts';
import { addDays, dayOf, earlierDay, laterDay } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import type { ReportQuestion } from './points/point.ts';

/** A request for evidence about points that the reports of a sync leave open. */
export interface CalibrationQuestion extends ReportQuestion {
  /** What the response shows, in a few words, such as `groups under a filter by tag`. */
  readonly reason: string;
}

/** Options of `questionsToAsk`. */
export interface QuestionOptions {
  readonly catalogue: Catalogue;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Most questions after the first sync, and again after a contradiction. */
  readonly max: number;
}

/** The brand of the questions: the one with most responses. */
interface AskedBrand {
  readonly id: string;
  /** The first and the last complete day with responses. */
  readonly first: string;
  readonly last: string;
  /** The engine with most responses, and the tag that shares most prompts with other tags; null without any. */
  readonly engine: string | null;
  readonly tagId: string | null;
  /** A prompt with responses on the first days, of the branded or other prompts, whichever also have paused prompts or some without. */
  readonly promptId: string | null;
  /** Whether upstream reports days or engines without responses, and prompts without. */
  readonly hasEmptyDays: boolean;
  readonly hasEmptyPrompts: boolean;
}

/** Long enough for a group or prompt to have a few responses, and short enough that some have none. */
const FEW_DAYS = 3;
const VISITS_DAYS = 14;
/** Days from the day without responses that is asked about to the first day with responses. */
const DAYS_BEFORE = 40;

/**
 * Returns the questions that are left to ask; null if no responses are stored, because the questions depend on them. Questions are asked
 * once, and once more after a contradiction.
 */
export async function questionsToAsk(
  query: Query,
  { catalogue, now, max }: QuestionOptions,
): Promise<readonly CalibrationQuestion[] | null> {
  if (max === 0) return [];
  const brand = await readBrand(query, catalogue, dayOf(now));
  if (brand === null) return null;
  const [row] = await query(
    `SELECT count(*) FROM sync.answers WHERE purpose = 'probe'
       AND asked_at >= coalesce((SELECT max(decided_at) FROM sync.calibration WHERE contradicted), TIMESTAMP 'epoch')`,
  );
  return questionsAbout(brand).slice(Number(row?.[0]), max);
}

// The reports of a sync cover many days without filters. The questions cover few responses, first days, filters and sources.
function questionsAbout(brand: AskedBrand): CalibrationQuestion[] {
  const { id, first, last, engine, tagId, promptId } = brand;
  const few = { from: laterDay(addDays(last, 1 - FEW_DAYS), first), to: last };
  const early = { from: first, to: earlierDay(addDays(first, 1), last) };
  const before = addDays(first, -DAYS_BEFORE);
  const around = { from: addDays(first, -FEW_DAYS), to: earlierDay(addDays(first, VISITS_DAYS - FEW_DAYS), last) };
  const visits = { from: laterDay(addDays(last, 1 - VISITS_DAYS), first), to: last };
  const ofEngine = engine === null ? {} : { engine };
  const ofTag = tagId === null ? {} : { tagId };
  const ofPrompt = promptId === null ? {} : { promptId };
  const asked: readonly (readonly [resource: string, reason: string, query: ReportQuestion['query']])[] = [
    ['metrics_groups', 'tags under a filter by tag', { ...few, ...ofTag, groupBy: 'tag' }],
    brand.hasEmptyDays
      ? ['metrics_daily', 'days without responses to a prompt', { ...around, ...ofPrompt, ...ofEngine }]
      : brand.hasEmptyPrompts
        ? ['metrics_prompts', 'prompts on a day without responses', { from: before, to: before }]
        : ['metrics_prompts', 'prompts of the first days, with few responses', { ...early, ...ofEngine }],
    ['metrics', 'a day without responses', { from: before, to: before }],
    ['traffic', 'visits of one source', { ...visits, source: 'assistant-a' }],
    ['metrics_groups', 'groups on a day without responses', { from: before, to: before, groupBy: 'topic' }],
    ['metrics_groups', 'groups under a filter by prompt', { ...early, ...ofPrompt, groupBy: 'branded' }],
  ];
  return asked.map(([resource, reason, query]) => ({ resource, brandId: id, query, reason }));
}

// Only complete days before `today` are asked about, because later responses could explain a difference.
async function readBrand(query: Query, catalogue: Catalogue, today: string): Promise<AskedBrand | null> {
  if (!catalogue.resources.some(({ name }) => name === 'responses')) return null;
  const [row] = await query(
    `SELECT CAST(t.brand_id AS VARCHAR), strftime(min(t.created_at), '%Y-%m-%d'), strftime(max(t.created_at), '%Y-%m-%d')
     FROM responses t JOIN brands b ON b.id = t.brand_id AND b._deleted_at IS NULL
     WHERE t._deleted_at IS NULL AND t.created_at < CAST($1 AS DATE) GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1`,
    [today],
  );
  if (row === undefined) return null;
  const [id, first, last] = row as [string, string, string];
  const readId = async (sql: string): Promise<string | null> => {
    const [found] = await query(sql, [id]);
    return (found?.[0] ?? null) as string | null;
  };
  const hasZero = async (report: string): Promise<boolean> => {
    if (!catalogue.resources.some(({ name }) => name === report)) return false;
    const sql = `SELECT 1 FROM ${report} WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL AND responses = 0 LIMIT 1`;
    return (await readId(sql)) !== null;
  };
  return {
    id,
    first,
    last,
    engine: await readId(
      `SELECT engine FROM responses WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL AND engine IS NOT NULL
       GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1`,
    ),
    tagId: await readId(
      `WITH tags AS (SELECT DISTINCT prompt_id, tag_id FROM prompt_tags
         WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL AND tag_id IS NOT NULL)
       SELECT CAST(a.tag_id AS VARCHAR) FROM tags a LEFT JOIN tags b ON b.prompt_id = a.prompt_id AND b.tag_id <> a.tag_id
       GROUP BY a.tag_id ORDER BY count(b.tag_id) DESC, count(*) DESC, 1 LIMIT 1`,
    ),
    promptId: await readId(
      `WITH answered AS (SELECT prompt_id, count(*) AS count FROM responses
         WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL
           AND CAST(created_at AS DATE) BETWEEN DATE '${first}' AND DATE '${first}' + 1 GROUP BY 1)
       SELECT CAST(p.id AS VARCHAR) FROM prompts p LEFT JOIN answered a ON a.prompt_id = p.id
       WHERE p.brand_id = CAST($1 AS UUID) AND p._deleted_at IS NULL
       WINDOW alike AS (PARTITION BY coalesce(p.branded, false)) QUALIFY a.count > 0
       ORDER BY (count(*) FILTER (a.count IS NULL OR NOT p.active) OVER alike) > 0 DESC, count(*) OVER alike DESC, a.count DESC, p.id
       LIMIT 1`,
    ),
    hasEmptyDays: await hasZero('metrics_daily'),
    hasEmptyPrompts: await hasZero('metrics_prompts'),
  };
}

/** Whether upstream counts responses on a day before `today`: questions are asked about such days only. */
export async function hasCompleteDays(query: Query, catalogue: Catalogue, today: string): Promise<boolean> {
  if (!catalogue.resources.some(({ name }) => name === 'metrics_daily')) return false;
  const rows = await query(
    'SELECT 1 FROM metrics_daily WHERE _deleted_at IS NULL AND responses > 0 AND date < CAST($1 AS DATE) LIMIT 1',
    [today],
  );
  return rows.length > 0;
}
