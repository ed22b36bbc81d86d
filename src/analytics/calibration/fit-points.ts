import { canonical, type Finding, findBest, isEqual } from './candidates.ts';
import { type Agreement, compareFacts, countFacts } from './compare-facts.ts';
import { type Compute, watchReads } from './compute-response.ts';
import type { Conventions } from './conventions.ts';
import type { CalibrationPoint, Facts, KnownAnswer, ReportQuestion, StoredAgreements } from './points/point.ts';
import { isValid, packRows, unpackRows } from './stored-agreements.ts';

/** Maximum number of responses that one calibration compares per point. Earlier comparisons are kept. */
const ANSWERS_MAX = 12;
/** Rounds of fitting: the value of one point may depend on those of others. */
const ROUNDS_MAX = 3;

/** The finding of a point. */
export interface PointFinding extends Finding<unknown> {
  /** Reports with facts that no candidate explains, and that later responses may have changed. */
  readonly unexplained: readonly ReportQuestion[];
}

/** Findings by the name of the point. */
export type PointFindings = Readonly<Record<string, PointFinding>>;

/** Inputs of `fitPoints`. */
export interface PointEvidence {
  readonly points: readonly CalibrationPoint[];
  /** Responses of upstream: to questions first, then reports, newest first. */
  readonly answers: readonly KnownAnswer[];
  /** The conventions found from other evidence; for registry points, those of the calibration before. */
  readonly conventions: Conventions;
  readonly compute: Compute;
  /** Findings of the calibration before. */
  readonly known?: ReadonlyMap<string, Finding<unknown>>;
}

/** Confidence from which a known value is only checked, and compared with other candidates if a fact contradicts it. */
const CONFIDENT_LEAST = 0.9;

/**
 * Finds the value of each point: the candidate with which the stored data give the facts of upstream's responses. Points are fitted
 * in rounds, each with the best candidates of the others so far.
 */
export async function fitPoints(evidence: PointEvidence): Promise<PointFindings> {
  let { conventions } = evidence;
  let findings: Record<string, PointFinding> = {};
  const known = new Map(evidence.known);
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = conventions;
    findings = {};
    for (const point of evidence.points) {
      const { finding, best } = await fitPoint(point, { ...evidence, conventions }, known);
      findings[point.name] = finding;
      conventions = { ...conventions, [point.name]: best };
    }
    if (isEqual(before, conventions)) break;
  }
  return findings;
}

async function fitPoint(
  point: CalibrationPoint,
  evidence: PointEvidence,
  known: Map<string, Finding<unknown>>,
): Promise<{ finding: PointFinding; best: unknown }> {
  const before = known.get(point.name);
  if (before !== undefined && (await holds(point, before, evidence))) {
    return { finding: { ...before, unexplained: [] }, best: before.value };
  }
  known.delete(point.name);
  const all = await readAgreements(point, evidence);
  const fitted = fitAnswers(point, all);
  if (!fitted.finding.contradicted) return fitted;
  // Upstream may have changed since the earlier responses.
  const latest = fitAnswers(
    point,
    all.filter(({ answer }) => answer.isFresh),
  );
  return latest.finding.source === 'learned' ? latest : fitted;
}

// Whether a well known value explains all facts of the responses that were not compared before.
async function holds(point: CalibrationPoint, known: Finding<unknown>, evidence: PointEvidence): Promise<boolean> {
  if (known.source !== 'learned' || (known.confidence ?? 0) < CONFIDENT_LEAST) return false;
  const conventions = { ...evidence.conventions, [point.name]: known.value };
  const fresh = evidence.answers.filter(({ resource, isFresh }) => isFresh && point.resources.includes(resource));
  const isNew = fresh.filter(({ agreements }) => !agreements.has(point.name)).slice(0, ANSWERS_MAX);
  for (const answer of isNew) {
    const ours = point.facts(await evidence.compute(answer, answer.askedAt, conventions), answer);
    if (!compareFacts(point.facts(answer, answer), [ours]).every(isExplained)) return false;
  }
  return true;
}

interface AnswerRows {
  readonly answer: KnownAnswer;
  readonly rows: readonly Agreement[];
}

function isExplained(row: Agreement): boolean {
  return row.includes(true);
}

// A fact that no candidate explains is evidence against all of them, so the point is not determined. A report that is not settled may
// count responses that are not stored; its unexplained facts are ignored if the report of the complete days has none.
function fitAnswers(point: CalibrationPoint, all: readonly AnswerRows[]): { finding: PointFinding; best: unknown } {
  const rows = all.flatMap(({ answer, rows: own }) => (answer.isSettled ? own : own.filter(isExplained)));
  const { finding, best } = fitRows(point, rows);
  const settled = rows.filter((row) => !isExplained(row)).length;
  const confirmed = new Set(
    all.flatMap(({ answer, rows: own }) =>
      answer.isSettled && own.length > 0 && own.every(isExplained) ? [shapeOf(answer)] : [],
    ),
  );
  const doubtful = all.filter(
    ({ answer, rows: own }) => !answer.isSettled && !own.every(isExplained) && !confirmed.has(shapeOf(answer)),
  );
  const unexplained = doubtful.map(({ answer: { resource, brandId, query } }) => ({ resource, brandId, query }));
  const count =
    settled + doubtful.reduce((sum, { rows: own }) => sum + own.filter((row) => !isExplained(row)).length, 0);
  if (finding.source !== 'learned' || count === 0) return { finding: { ...finding, unexplained }, best };
  const note = `${finding.note}; no value explains ${count} other ${count === 1 ? 'fact' : 'facts'}`;
  return { finding: { ...finding, source: 'default', confidence: null, note, unexplained }, best };
}

// Identifies a report apart from its range.
function shapeOf({ resource, brandId, query }: ReportQuestion): string {
  const { from: _, to: __, ...others } = query;
  return canonical([resource, brandId, others]);
}

// Agreements are computed while the stored data are those that the response describes, and are kept for later calibrations.
async function readAgreements(point: CalibrationPoint, evidence: PointEvidence): Promise<AnswerRows[]> {
  const all: AnswerRows[] = [];
  let computed = 0;
  for (const answer of evidence.answers.filter(({ resource }) => point.resources.includes(resource))) {
    const { isFresh } = answer;
    const before = answer.agreements.get(point.name);
    if (before !== undefined && isValid(before, point, evidence, isFresh)) {
      all.push({ answer, rows: unpackRows(before) });
    } else if (isFresh && computed < ANSWERS_MAX) {
      const theirs = point.facts(answer, answer);
      if (countFacts(theirs) === 0) continue;
      const now = await compareAnswer(point, answer, theirs, evidence);
      answer.agreements.set(point.name, now);
      all.push({ answer, rows: unpackRows(now) });
      computed += 1;
    }
  }
  return all;
}

// Computes the response with each candidate, and records the other conventions that the computations have read.
async function compareAnswer(
  point: CalibrationPoint,
  answer: KnownAnswer,
  theirs: Facts,
  evidence: PointEvidence,
): Promise<StoredAgreements> {
  const { conventions, compute } = evidence;
  const reads = new Set<keyof Conventions>();
  const ours: Facts[] = [];
  for (const candidate of point.candidates) {
    const watched = watchReads({ ...conventions, [point.name]: candidate }, (name) => {
      if (name !== point.name) reads.add(name);
    });
    ours.push(point.facts(await compute(answer, answer.askedAt, watched), answer));
  }
  return packRows(compareFacts(theirs, ours), point, evidence, [...reads]);
}

function fitRows(point: CalibrationPoint, rows: readonly Agreement[]): { finding: Finding<unknown>; best: unknown } {
  const places = new Map<unknown, number>(point.candidates.map((candidate, index) => [candidate, index]));
  const finding = findBest<unknown, Agreement>({
    rows,
    candidates: point.candidates,
    prior: point.candidates[0],
    agrees: (candidate, row) => row[places.get(candidate) ?? 0] === true,
    settles: (candidate) => candidate,
    describe: describeValue,
    least: 1,
  });
  const counts = point.candidates.map((_, index) => rows.filter((row) => row[index] === true).length);
  return { finding, best: point.candidates[counts.indexOf(Math.max(...counts))] };
}

/** Describes the value of a point, for notes. */
export function describeValue(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** Whether the responses of some candidates to a question would differ in the facts of the point. */
export async function separates(
  point: CalibrationPoint,
  question: ReportQuestion,
  candidates: readonly unknown[],
  { conventions, compute, askedAt }: Pick<PointEvidence, 'conventions' | 'compute'> & { readonly askedAt: number },
): Promise<boolean> {
  const facts: Facts[] = [];
  for (const candidate of candidates) {
    const own = await compute(question, askedAt, { ...conventions, [point.name]: candidate });
    facts.push(point.facts(own, question));
    const [first] = facts;
    if (first !== undefined && compareFacts(facts.at(-1) as Facts, [first]).some(([agrees]) => agrees === false))
      return true;
  }
  return false;
}
