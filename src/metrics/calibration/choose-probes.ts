import type { Catalogue } from '../../contract/catalogue.ts';
import { addDays, dayOf, eachDay, laterDay } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import { spread } from './candidates.ts';
import { countOutcomes, type PointEvidence, type PointFindings } from './fit-points.ts';
import {
  type BrandVocabulary,
  type CalibrationPoint,
  type KnownAnswer,
  type ProbeQuestion,
  type ReportQuestion,
} from './points/point.ts';
import { questionsOf } from './points/report-questions.ts';

/** Ids of each kind from which questions are built. */
const IDS_MAX = 4;
/** If candidates explain this many facts alike, further responses rarely separate them. */
const ALIKE_MANY = 20;
/** Candidates of a point with which responses are computed: a sample shows as well which questions separate them. */
const CANDIDATES_MAX = 4;
/** Weight of an order, compared with a point about rows. */
const ORDER_WEIGHT = 0.9;
/** Weighted information that a question must add. */
const GAIN_LEAST = 0.01;
/** Reports of one point that are asked again for complete days. */
const CONFIRMED_MAX = 1;

/** A question to ask, and the points that it may decide. */
export interface ChosenProbe extends ProbeQuestion {
  readonly points: readonly string[];
}

/** A question, and the share of the information about each point that the response has; points without any are left out. */
interface TriedQuestion {
  readonly question: ProbeQuestion;
  readonly shares: ReadonlyMap<string, number>;
}

/** Inputs of `chooseProbes`. */
export interface ProbeParts {
  readonly evidence: PointEvidence;
  readonly findings: PointFindings;
  /** The brand about which questions are asked. */
  readonly brand: BrandVocabulary;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly max: number;
}

/**
 * Chooses valid questions that separate the candidates that are left of undetermined points: with the stored data, the responses to them
 * differ. At most `max`, those first that separate most points that readers are likely to depend on: orders that explain many rows alike
 * rarely differ in other rows.
 */
export async function chooseProbes({ evidence, findings, brand, now, max }: ProbeParts): Promise<ChosenProbe[]> {
  if (max <= 0) return [];
  const conventions = { ...evidence.conventions, ...bestValues(findings) };
  const known = new Set(evidence.answers.filter(({ isReport }: KnownAnswer) => !isReport).map(textOf));
  const open = evidence.points.flatMap((point): OpenPoint[] => {
    const left = findings[point.name]?.left ?? point.candidates;
    return left.length < 2 ? [] : [{ point, left: spread(left, CANDIDATES_MAX) }];
  });
  const questions = questionsOf(brand).filter((question) => !known.has(textOf(question)));
  const tried = await tryQuestions(questions, open, { ...evidence, conventions, askedAt: now });
  const weights = new Map(open.map((one) => [one.point.name as string, weightOf(one, findings, tried)]));
  const confirming = evidence.points.flatMap(({ name }): ChosenProbe[] =>
    againOf(findings[name]?.unexplained ?? [], now).map((question) => ({ ...question, points: [name] })),
  );
  const chosen = new Map<string, ChosenProbe>();
  for (const probe of coverPoints(tried, weights, max)) chosen.set(textOf(probe), probe);
  for (const question of confirming) {
    const text = textOf(question);
    const before = chosen.get(text);
    if (!known.has(text)) chosen.set(text, { ...question, points: [...(before?.points ?? []), ...question.points] });
  }
  return [...chosen.values()].slice(0, max);
}

// Returns how likely readers are to depend on a point: more if many questions depend on it, and less for the order of rows than for
// the rows and their contents.
function weightOf({ point }: OpenPoint, findings: PointFindings, tried: readonly TriedQuestion[]): number {
  const own = tried.filter(({ question: { resource } }) => point.resources.includes(resource));
  const share = own.filter(({ shares }) => shares.has(point.name)).length / Math.max(1, own.length);
  if (point.isOrder !== true) return 1 + share;
  return (findings[point.name]?.compared ?? 0) >= ALIKE_MANY ? share / 2 : ORDER_WEIGHT * (1 + share);
}

interface OpenPoint {
  readonly point: CalibrationPoint;
  /** Some of the candidates that are left. */
  readonly left: readonly unknown[];
}

// Computes the responses to questions with the candidates that are left.
async function tryQuestions(
  questions: readonly ProbeQuestion[],
  open: readonly OpenPoint[],
  used: Parameters<typeof countOutcomes>[2],
): Promise<TriedQuestion[]> {
  const tried: TriedQuestion[] = [];
  for (const question of questions) {
    const shares = new Map<string, number>();
    for (const { point, left } of open) {
      if (!point.resources.includes(question.resource)) continue;
      const outcomes = await countOutcomes(point, question, used, left);
      if (outcomes > 1) shares.set(point.name, Math.log2(outcomes) / Math.log2(left.length));
    }
    tried.push({ question, shares });
  }
  return tried;
}

// Chooses questions one after the other: each the one that adds most information, by the weight of the points.
function coverPoints(
  tried: readonly TriedQuestion[],
  weights: ReadonlyMap<string, number>,
  max: number,
): readonly ChosenProbe[] {
  const chosen: ChosenProbe[] = [];
  const missing = new Map(weights);
  const gainOf = ({ shares }: TriedQuestion): number =>
    [...shares].reduce((sum, [name, share]) => sum + share * (missing.get(name) ?? 0), 0);
  while (chosen.length < max) {
    const gains = tried.map(gainOf);
    const best = tried[gains.indexOf(Math.max(...gains))];
    if (best === undefined || gainOf(best) < GAIN_LEAST) break;
    chosen.push({ ...best.question, points: [...best.shares.keys()] });
    for (const [name, share] of best.shares) missing.set(name, (missing.get(name) ?? 0) * (1 - share));
  }
  return chosen;
}

// The same reports up to the last complete day, because responses of the current day may explain the difference.
function againOf(reports: readonly ReportQuestion[], now: number): ProbeQuestion[] {
  const last = addDays(dayOf(now), -1);
  return reports.slice(0, CONFIRMED_MAX).flatMap(({ resource, brandId, query }) => {
    const { from } = query;
    if (from === undefined || from > last) return [];
    return [{ resource, brandId, query: { ...query, to: last }, reason: 'a report that no known value explains' }];
  });
}

function bestValues(findings: PointFindings): Record<string, unknown> {
  return Object.fromEntries(Object.entries(findings).map(([name, { value }]) => [name, value]));
}

function textOf({ resource, brandId, query }: Pick<ProbeQuestion, 'resource' | 'brandId' | 'query'>): string {
  return JSON.stringify([resource, brandId, Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/**
 * Reads the ids and days from which questions are built, for the brand with most responses; null if no responses are stored. Only complete
 * days before `today` are asked about, because later responses could explain a difference.
 */
export async function readProbeVocabulary(
  query: Query,
  catalogue: Catalogue,
  today: string,
): Promise<BrandVocabulary | null> {
  if (!catalogue.resources.some(({ name }) => name === 'responses')) return null;
  const [row] = await query(
    `SELECT CAST(t.brand_id AS VARCHAR), strftime(min(t.created_at), '%Y-%m-%d'), strftime(max(t.created_at), '%Y-%m-%d')
     FROM responses t JOIN brands b ON b.id = t.brand_id AND b._deleted_at IS NULL
     WHERE t._deleted_at IS NULL AND t.created_at < CAST($1 AS DATE) GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1`,
    [today],
  );
  if (row === undefined) return null;
  const [id, first, last] = row as [string, string, string];
  const ids = await readIds(query, id, laterDay(addDays(last, -59), first));
  return { id, first, last, ...ids, emptyDay: await readEmptyDay(query, id, first, last) };
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

type Ids = Omit<BrandVocabulary, 'id' | 'first' | 'last' | 'emptyDay'>;

async function readIds(query: Query, brandId: string, since: string): Promise<Ids> {
  const read = async (sql: string): Promise<string[]> => {
    const rows = await query(sql, [brandId, since]);
    return rows.map(([id]) => String(id));
  };
  const live = `FROM responses t JOIN prompts p ON p.brand_id = t.brand_id AND p.id = t.prompt_id AND p._deleted_at IS NULL
    WHERE t.brand_id = CAST($1 AS UUID) AND t._deleted_at IS NULL AND t.created_at >= CAST($2 AS DATE)`;
  const top = (column: string): string =>
    `SELECT CAST(${column} AS VARCHAR) ${live} AND ${column} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ${IDS_MAX}`;
  return {
    engines: await read(top('t.engine')),
    promptIds: await read(top('p.id')),
    topicIds: await read(top('p.topic_id')),
    tagIds: await read(
      `WITH tags AS (SELECT DISTINCT prompt_id, tag_id FROM prompt_tags
         WHERE brand_id = CAST($1 AS UUID) AND _deleted_at IS NULL AND tag_id IS NOT NULL AND CAST($2 AS DATE) IS NOT NULL)
       SELECT CAST(a.tag_id AS VARCHAR) FROM tags a LEFT JOIN tags b ON b.prompt_id = a.prompt_id AND b.tag_id <> a.tag_id
       GROUP BY a.tag_id ORDER BY count(b.tag_id) DESC, count(*) DESC, 1 LIMIT ${IDS_MAX}`,
    ),
  };
}

async function readEmptyDay(query: Query, brandId: string, first: string, last: string): Promise<string | null> {
  const rows = await query(
    `SELECT DISTINCT strftime(created_at, '%Y-%m-%d') FROM responses
     WHERE brand_id = CAST($1 AS UUID) AND created_at >= CAST($2 AS DATE)`,
    [brandId, addDays(last, -60)],
  );
  const days = new Set(rows.map(([day]) => String(day)));
  const from = laterDay(addDays(last, -59), first);
  return [...eachDay(from, last)].findLast((day) => !days.has(day)) ?? addDays(first, -40);
}
