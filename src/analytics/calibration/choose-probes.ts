import type { Catalogue } from '../../contract/catalogue.ts';
import { addDays, dayOf, eachDay, laterDay } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import { type PointEvidence, type PointFindings, separates } from './fit-points.ts';
import type { BrandVocabulary, CalibrationPoint, ProbeQuestion, ReportQuestion } from './points/point.ts';

/** Brands about which questions are asked. */
const BRANDS_MAX = 2;
/** Ids of each kind from which questions are built. */
const IDS_MAX = 4;
/** Questions of one point that are tried against the stored data. */
const TRIED_MAX = 10;
/** Questions of one point in one round; the answer to one question usually decides. */
const ASKED_MAX = 1;
/** Reports of one point that are asked again for complete days. */
const CONFIRMED_MAX = 1;
/** Time after which an unanswered question is asked again. */
const AGAIN_MS = 30 * 86_400_000;

/** A question to ask, and the points that it may decide. */
export interface ChosenProbe extends ProbeQuestion {
  readonly points: readonly string[];
}

/** Inputs of `chooseProbes`. */
export interface ProbeParts {
  readonly evidence: PointEvidence;
  readonly findings: PointFindings;
  readonly brands: readonly BrandVocabulary[];
  /** Epoch milliseconds. */
  readonly now: number;
  readonly max: number;
}

/**
 * Chooses questions that separate the candidates that are left of undetermined points: with the stored data, the responses to them
 * differ. At most `max`, points in turn; a question may serve several points.
 */
export async function chooseProbes({ evidence, findings, brands, now, max }: ProbeParts): Promise<ChosenProbe[]> {
  if (max <= 0) return [];
  const chosen = new Map<string, { question: ProbeQuestion; points: string[] }>();
  const conventions = { ...evidence.conventions, ...bestValues(findings) };
  const known = new Set(
    evidence.answers.filter(({ isReport, askedAt }) => !isReport && now - askedAt < AGAIN_MS).map(textOf),
  );
  const add = (question: ProbeQuestion, name: string): boolean => {
    const text = textOf(question);
    const before = chosen.get(text);
    if (before === undefined && chosen.size >= max) return false;
    chosen.set(text, { question: before?.question ?? question, points: [...(before?.points ?? []), name] });
    return true;
  };
  for (const point of evidence.points) {
    for (const question of confirming(findings[point.name]?.unexplained ?? [], now)) {
      if (!known.has(textOf(question))) add(question, point.name);
    }
    const left = candidatesLeft(point, findings);
    if (left.length < 2) continue;
    let count = 0;
    const questions = brands.flatMap((brand) => point.probes(brand)).slice(0, TRIED_MAX);
    for (const question of questions) {
      if (count >= ASKED_MAX || known.has(textOf(question))) continue;
      if (!(await separates(point, question, left, { ...evidence, conventions, askedAt: now }))) continue;
      if (add(question, point.name)) count += 1;
    }
  }
  return [...chosen.values()].map(({ question, points }) => ({ ...question, points }));
}

// The same reports up to the last complete day, because responses of the current day may explain the difference.
function confirming(reports: readonly ReportQuestion[], now: number): ProbeQuestion[] {
  const last = addDays(dayOf(now), -1);
  return reports.slice(0, CONFIRMED_MAX).flatMap(({ resource, brandId, query }) => {
    const { from } = query;
    if (from === undefined || from > last) return [];
    return [{ resource, brandId, query: { ...query, to: last }, reason: 'a report that no known value explains' }];
  });
}

// The candidates that explain most facts; none if the point is determined, or if no candidate explains upstream.
function candidatesLeft(point: CalibrationPoint, findings: PointFindings): readonly unknown[] {
  const finding = findings[point.name];
  if (finding === undefined) return point.candidates;
  if (finding.source === 'learned' || finding.contradicted) return [];
  const ranked = finding.candidates ?? [];
  const most = ranked[0]?.agreed ?? 0;
  return ranked.filter(({ agreed }) => agreed === most).map(({ value }) => value);
}

function bestValues(findings: PointFindings): Record<string, unknown> {
  return Object.fromEntries(Object.entries(findings).map(([name, { value }]) => [name, value]));
}

function textOf({ resource, brandId, query }: Pick<ProbeQuestion, 'resource' | 'brandId' | 'query'>): string {
  return JSON.stringify([resource, brandId, Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/**
 * Reads the ids and days from which questions are built, for the brands with most responses. Only complete days before `today` are
 * asked about, because later responses could explain a difference.
 */
export async function readProbeVocabulary(
  query: Query,
  catalogue: Catalogue,
  today: string,
): Promise<BrandVocabulary[]> {
  if (!catalogue.resources.some(({ name }) => name === 'responses')) return [];
  const rows = await query(
    `SELECT CAST(t.brand_id AS VARCHAR), strftime(min(t.created_at), '%Y-%m-%d'), strftime(max(t.created_at), '%Y-%m-%d'), count(*) AS n
     FROM responses t JOIN brands b ON b.id = t.brand_id AND b._deleted_at IS NULL
     WHERE t._deleted_at IS NULL AND t.created_at < CAST($1 AS DATE) GROUP BY 1 ORDER BY n DESC, 1 LIMIT ${BRANDS_MAX}`,
    [today],
  );
  const brands: BrandVocabulary[] = [];
  for (const [id, first, last] of rows as [string, string, string][]) {
    const recent = laterDay(addDays(last, -59), first);
    brands.push({
      id,
      first,
      last,
      ...(await readIds(query, id, recent)),
      emptyDay: await readEmptyDay(query, id, first, last),
    });
  }
  return brands;
}

type Ids = Pick<BrandVocabulary, 'engines' | 'promptIds' | 'topicIds' | 'tagIds'>;

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
