import type { Catalogue } from '../../contract/catalogue.ts';
import { addDays, dayOf, eachDay, laterDay } from '../../contract/time.ts';
import type { Query } from '../../warehouse/database.ts';
import { countOutcomes, informationOf, type PointEvidence, type PointFindings } from './fit-points.ts';
import { isEmpty } from './points/facts.ts';
import {
  type BrandVocabulary,
  type CalibrationPoint,
  type KnownAnswer,
  type ProbeQuestion,
  type ReportQuestion,
  withCandidate,
} from './points/point.ts';
import { interleave } from './points/report-points.ts';

/** Brands about which questions are asked. */
const BRANDS_MAX = 2;
/** Ids of each kind from which questions are built. */
const IDS_MAX = 4;
/** Questions of one point that are tried against the stored data, unless the point sets `triesMax`. */
const TRIED_MAX = 14;
/** Questions of one point that are compared with each other. */
const COMPARED_MAX = 6;
/** Information that a further question of a point must add, in bits. A question that decides between two equal values adds 1. */
const BITS_LEAST = 0.9;
/** If candidates explain this many facts alike, further responses rarely separate them. */
const ALIKE_MANY = 20;
/** If at least this share of the tried questions separates a point, requests of readers are likely to depend on it. */
const OFTEN = 0.5;
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
  /** Whether no questions are chosen after the responses to these. */
  readonly isLast: boolean;
}

/**
 * Chooses questions that separate the candidates that are left of undetermined points: with the stored data, the responses to them
 * differ. At most `max`. A question that separates several points is preferred, and serves all of them. Questions about reports come first,
 * because reports are requested more often than anything that is not valid, except for orders that explain many rows alike.
 */
export async function chooseProbes({
  evidence,
  findings,
  brands,
  now,
  max,
  isLast,
}: ProbeParts): Promise<ChosenProbe[]> {
  if (max <= 0) return [];
  const chosen = new Map<string, ChosenProbe>();
  const conventions = { ...evidence.conventions, ...bestValues(findings) };
  const used = { ...evidence, conventions, askedAt: now };
  const isRecent = ({ isReport, askedAt }: KnownAnswer): boolean => !isReport && now - askedAt < AGAIN_MS;
  const known = new Set(evidence.answers.filter(isRecent).map(textOf));
  const add = (question: ProbeQuestion, points: readonly string[]): void => {
    const text = textOf(question);
    const before = chosen.get(text);
    if (before === undefined && (known.has(text) || chosen.size >= max)) return;
    chosen.set(text, { ...question, ...before, points: [...(before?.points ?? []), ...points] });
  };
  const open = evidence.points.flatMap((point): OpenPoint[] => {
    const left = candidatesLeft(point, findings);
    const probes = interleave(brands.map((brand) => point.probes(brand)));
    const questions = probes.filter((question) => !known.has(textOf(question)));
    return left.length < 2 ? [] : [{ point, left, questions: questions.slice(0, point.triesMax ?? TRIED_MAX) }];
  });
  const [requests, reports] = partition(open, ({ point }) => point.isAboutRequests === true);
  const [alone, joint] = partition(requests, ({ point }) => point.members === undefined);
  const covering = await coverReports(reports, used);
  const spoilt = await spoilSome(covering, [...joint, ...alone], reports, used, known);
  const carriers = new Set([...spoilt.values()].map(textOf));
  const isUrgent = urgency(reports, findings);
  const [urgent, others] = partition(covering, (one) => carriers.has(textOf(one.question)) || isUrgent(one));
  const waiting = alone.filter((each) => !spoilt.has(each));
  for (const { question, points } of urgent) add(question, points);
  for (const one of joint) {
    for (const question of await separating(one, used, spoilt.get(one))) add(question, [one.point.name]);
  }
  for (const { question, points } of others) {
    if (chosen.size + waiting.length < max) add(question, points);
  }
  const confirm = (): void => {
    for (const { name } of evidence.points) {
      for (const question of confirming(findings[name]?.unexplained ?? [], now)) add(question, [name]);
    }
  };
  // Points that these questions decide may explain the reports.
  if (chosen.size === 0) confirm();
  // A later question about a report may decide the waiting points too.
  if (!isLast && chosen.size > 0) return [...chosen.values()];
  for (const one of waiting) {
    for (const question of await separating(one, used)) add(question, [one.point.name]);
  }
  for (const { question, points } of others) add(question, points);
  confirm();
  return [...chosen.values()];
}

// Returns whether a question is urgent. Orders that explain many rows alike rarely differ in other rows, so they can wait.
function urgency(reports: readonly OpenPoint[], findings: PointFindings): (covering: Covering) => boolean {
  const orders = new Set<string>(reports.filter(isAboutOrder).map(({ point }) => point.name));
  return ({ points, share }) =>
    share >= OFTEN || points.some((name) => (findings[name]?.compared ?? 0) < ALIKE_MANY || !orders.has(name));
}

function isAboutOrder({ point, questions: [question] }: OpenPoint): boolean {
  return question !== undefined && point.facts({ status: 200, body: null }, question).kind === 'order';
}

interface OpenPoint {
  readonly point: CalibrationPoint;
  readonly left: readonly unknown[];
  readonly questions: readonly ProbeQuestion[];
}

type Used = Parameters<typeof countOutcomes>[3];

/** A question about reports, and the points that it separates. */
interface Covering {
  question: ProbeQuestion;
  points: string[];
  /** Share of the tried questions that separate the first point. */
  readonly share: number;
}

// Makes questions about reports invalid, each in one way, if their responses decide the same unless they are rejected. Returns these
// questions by the point about requests that they decide.
async function spoilSome(
  covering: readonly Covering[],
  requests: readonly OpenPoint[],
  reports: readonly OpenPoint[],
  used: Used,
  known: ReadonlySet<string>,
): Promise<Map<OpenPoint, ProbeQuestion>> {
  const found = new Map<OpenPoint, ProbeQuestion>();
  const spoilt = new Set<Covering>();
  for (const one of requests) {
    const unspoilt = covering.filter((each) => !spoilt.has(each));
    const carrier = await findCarrier(one, unspoilt, reports, used, known);
    if (carrier === null) continue;
    carrier.of.question = carrier.question;
    carrier.of.points.push(one.point.name);
    spoilt.add(carrier.of);
    found.set(one, carrier.question);
  }
  return found;
}

async function findCarrier(
  { point, left, questions }: OpenPoint,
  covering: readonly Covering[],
  reports: readonly OpenPoint[],
  used: Used,
  known: ReadonlySet<string>,
): Promise<{ of: Covering; question: ProbeQuestion } | null> {
  const own = await countOutcomes(point, questions.slice(0, 1), left, used);
  for (const of of covering) {
    const question = point.spoil?.(of.question) ?? null;
    if (question === null || known.has(textOf(question))) continue;
    if ((await countOutcomes(point, [question], left, used)) < own) continue;
    const served = reports.filter((report) => of.points.includes(report.point.name));
    const before = await used.compute(of.question, used.askedAt, used.conventions);
    if (await decidesUnlessRejected(question, { point, left }, served, { ...used, wasEmpty: isEmpty(before) }))
      return { of, question };
  }
  return null;
}

// Whether a question separates all points that it serves, whichever candidate of `one` is upstream's, unless the response is then an
// error or empty.
async function decidesUnlessRejected(
  question: ProbeQuestion,
  one: Pick<OpenPoint, 'point' | 'left'>,
  served: readonly OpenPoint[],
  used: Used & { readonly wasEmpty: boolean },
): Promise<boolean> {
  let isAccepted = false;
  for (const candidate of one.left) {
    const accepting = { ...used, conventions: withCandidate(one.point, used.conventions, candidate) };
    const response = await used.compute(question, used.askedAt, accepting.conventions);
    if (response.status !== 200 || (isEmpty(response) && !used.wasEmpty)) continue;
    isAccepted = true;
    for (const { point, left } of served) {
      if ((await countOutcomes(point, [question], left, accepting)) < 2) return false;
    }
  }
  return isAccepted;
}

// One question for each point that no other question separates: the one that tells most candidates of all such points apart.
async function coverReports(open: readonly OpenPoint[], used: Used): Promise<Covering[]> {
  const found: Covering[] = [];
  const covered = new Set<string>();
  for (const { point, left, questions } of open) {
    if (covered.has(point.name)) continue;
    let best: { question: ProbeQuestion; points: string[]; bits: number } | null = null;
    let [tried, compared] = [0, 0];
    for (const question of questions) {
      tried += 1;
      const outcomes = await countOutcomes(point, [question], left, used);
      if (outcomes < 2) continue;
      const points = [point.name as string];
      let bits = Math.log2(outcomes);
      for (const other of open) {
        if (
          other.point === point ||
          covered.has(other.point.name) ||
          !other.point.resources.includes(question.resource)
        )
          continue;
        const own = await countOutcomes(other.point, [question], other.left, used);
        if (own > 1) points.push(other.point.name);
        bits += Math.log2(own);
      }
      if (best === null || bits > best.bits) best = { question, points, bits };
      compared += 1;
      if (compared >= COMPARED_MAX) break;
    }
    if (best === null) continue;
    found.push({ ...best, share: compared / tried });
    for (const name of best.points) covered.add(name);
  }
  return found;
}

// Questions of a point, best first. Others than the first are asked only if they are likely to be needed.
async function separating(
  { point, left, questions }: OpenPoint,
  used: Used,
  first?: ProbeQuestion,
): Promise<ProbeQuestion[]> {
  const found = first === undefined ? [] : [first];
  let bits = await informationOf(point, found, left, used);
  for (const question of questions) {
    const more = await informationOf(point, [...found, question], left, used);
    if (more - bits < (found.length === 0 ? Number.EPSILON : BITS_LEAST)) continue;
    bits = more;
    found.push(question);
  }
  return found;
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
  return findings[point.name]?.left ?? point.candidates;
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
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
    deletedPromptIds: await read(
      `SELECT CAST(t.prompt_id AS VARCHAR) FROM responses t
       ANTI JOIN prompts p ON p.brand_id = t.brand_id AND p.id = t.prompt_id AND p._deleted_at IS NULL
       WHERE t.brand_id = CAST($1 AS UUID) AND t._deleted_at IS NULL AND t.created_at >= CAST($2 AS DATE)
       GROUP BY t.prompt_id ORDER BY count(*) DESC, 1 LIMIT 1`,
    ),
    deletedCompetitorIds: await read(
      `SELECT CAST(t.competitor_id AS VARCHAR) FROM response_competitors t
       ANTI JOIN competitors c ON c.brand_id = t.brand_id AND c.id = CAST(t.competitor_id AS VARCHAR) AND c._deleted_at IS NULL
       WHERE t.brand_id = CAST($1 AS UUID) AND t._deleted_at IS NULL AND t.created_at >= CAST($2 AS DATE)
         AND t.competitor_id IS NOT NULL
       GROUP BY t.competitor_id ORDER BY count(*) DESC, 1 LIMIT 1`,
    ),
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
