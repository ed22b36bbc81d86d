import { AGREEING_LEAST, canonical, type Finding, findBest, isEqual, wilsonLow } from './candidates.ts';
import { type Agreement, compareFacts, countFacts } from './compare-facts.ts';
import { type Compute, watchReads } from './compute-response.ts';
import type { Conventions } from './conventions.ts';
import {
  type CalibrationPoint,
  type Facts,
  type KnownAnswer,
  membersOf,
  type ReportQuestion,
  type StoredAgreements,
  withCandidate,
} from './points/point.ts';
import { isValid, packRows, unpackRows } from './stored-agreements.ts';

/** Maximum number of responses that one calibration compares per point. Earlier comparisons are kept. */
const ANSWERS_MAX = 12;
/** Rounds of fitting: the value of one point may depend on those of others. */
const ROUNDS_MAX = 5;

/** The finding of a point. */
export interface PointFinding extends Finding<unknown> {
  /** Reports with facts that no candidate explains, and that later responses may have changed. */
  readonly unexplained: readonly ReportQuestion[];
  /** Candidates of the point that explain most facts; none if it is determined or contradicted. */
  readonly left: readonly unknown[];
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
      const fitted = await fitPoint(point, { ...evidence, conventions }, known);
      Object.assign(findings, findingsOf(point, fitted));
      conventions = withCandidate(point, conventions, fitted.best);
    }
    if (isEqual(before, conventions)) break;
  }
  return findings;
}

interface FittedPoint {
  readonly finding: PointFinding;
  /** The candidate with which other points are fitted. */
  readonly best: unknown;
}

// Points that are decided together have a finding each: a value is determined if all candidates that are left have it.
function findingsOf(point: CalibrationPoint, { finding, best }: FittedPoint): Record<string, PointFinding> {
  if (point.members === undefined) return { [point.name]: finding };
  const { compared, agreed, contradicted } = finding;
  const left = finding.source === 'learned' ? [best] : finding.left;
  const valueIn = (candidate: unknown, name: string): unknown => (candidate as Record<string, unknown>)[name];
  return Object.fromEntries(
    [...membersOf(point).keys()].map((name) => {
      const values = [...new Set(left.map((candidate) => valueIn(candidate, name)))];
      const isLearned = values.length === 1 && agreed > 0 && !contradicted;
      const value = valueIn(contradicted ? point.candidates[0] : best, name);
      const note = isLearned
        ? describeValue(value)
        : contradicted || compared === 0
          ? finding.note
          : `too little evidence: ${values.map(describeValue).join(' or ')}`;
      const candidates = values.map((one) => ({ value: one, agreed }));
      const source = isLearned ? ('learned' as const) : ('default' as const);
      const confidence = isLearned ? wilsonLow(agreed, agreed) : null;
      return [name, { ...finding, value, source, compared, agreed, note, confidence, candidates }];
    }),
  );
}

async function fitPoint(
  point: CalibrationPoint,
  evidence: PointEvidence,
  known: Map<string, Finding<unknown>>,
): Promise<FittedPoint> {
  const before = point.members === undefined ? known.get(point.name) : undefined;
  if (before !== undefined && (await holds(point, before, evidence))) {
    return { finding: { ...before, unexplained: [], left: [] }, best: before.value };
  }
  known.delete(point.name);
  const all = await readAgreements(point, evidence);
  const fitted = fitAnswers(point, all, evidence.conventions);
  if (!fitted.finding.contradicted) return fitted;
  // Upstream may have changed since the earlier responses.
  const latest = fitAnswers(
    point,
    all.filter(({ answer }) => answer.isFresh),
    evidence.conventions,
  );
  return latest.finding.source === 'learned' ? latest : fitted;
}

// Whether a well known value explains all facts of the responses that were not compared before.
async function holds(point: CalibrationPoint, known: Finding<unknown>, evidence: PointEvidence): Promise<boolean> {
  if (known.source !== 'learned' || (known.confidence ?? 0) < CONFIDENT_LEAST) return false;
  const conventions = withCandidate(point, evidence.conventions, known.value);
  const fresh = evidence.answers.filter((answer) => answer.isFresh && isAbout(point, answer));
  const isNew = fresh.filter(({ agreements }) => !agreements.has(point.name)).slice(0, ANSWERS_MAX);
  for (const answer of isNew) {
    const ours = point.facts(await evidence.compute(answer, answer.askedAt, conventions), answer);
    if (!compareFacts(point.facts(answer, answer), [ours]).every(isExplained)) return false;
  }
  return true;
}

function isAbout({ resources, isAboutRequests }: CalibrationPoint, { resource, status }: KnownAnswer): boolean {
  return resources.includes(resource) && (isAboutRequests === true || status === 200);
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
function fitAnswers(point: CalibrationPoint, all: readonly AnswerRows[], conventions: Conventions): FittedPoint {
  const rows = all.flatMap(({ answer, rows: own }) => (answer.isSettled ? own : own.filter(isExplained)));
  const { finding, best, left } = fitRows(point, rows, conventions);
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
  if (finding.source !== 'learned' || count === 0) {
    const own = finding.source === 'learned' ? [] : left;
    return { finding: { ...finding, unexplained, left: own }, best };
  }
  const note = `${finding.note}; no value explains ${count} other ${count === 1 ? 'fact' : 'facts'}`;
  return { finding: { ...finding, source: 'default', confidence: null, note, unexplained, left }, best };
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
  for (const answer of evidence.answers.filter((one) => isAbout(point, one))) {
    const { isFresh } = answer;
    const before = answer.agreements.get(point.name);
    if (before !== undefined && isValid(before, point, evidence, isFresh)) {
      all.push({ answer, rows: unpackRows(before) });
    } else if (isFresh && computed < ANSWERS_MAX) {
      const theirs = point.facts(answer, answer);
      // A report without rows says which rows exist.
      if (countFacts(theirs) === 0 && theirs.kind !== 'set') continue;
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
  const own = membersOf(point);
  const ours: Facts[] = [];
  for (const candidate of point.candidates) {
    const watched = watchReads(withCandidate(point, conventions, candidate), (name) => {
      if (!own.has(name)) reads.add(name);
    });
    ours.push(point.facts(await compute(answer, answer.askedAt, watched), answer));
  }
  return packRows(compareFacts(theirs, ours, point.isPartial), point, evidence, [...reads]);
}

// The best value is chosen by the facts that some candidate explains. If it does not explain enough of all facts, the point is
// contradicted; the best value is used nevertheless if it explains most of them, because the default explains fewer.
function fitRows(
  point: CalibrationPoint,
  all: readonly Agreement[],
  conventions: Conventions,
): { finding: Finding<unknown>; best: unknown; left: readonly unknown[] } {
  const rows = all.filter(isExplained);
  const places = new Map<unknown, number>(point.candidates.map((candidate, index) => [candidate, index]));
  const finding = findBest<unknown, Agreement>({
    rows,
    candidates: point.candidates,
    prior: point.candidates[0],
    agrees: (candidate, row) => row[places.get(candidate) ?? 0] === true,
    settles: (candidate) => (point.settles === undefined ? candidate : point.settles(candidate as never, conventions)),
    describe: describeValue,
    least: 1,
  });
  const counts = point.candidates.map((_, index) => rows.filter((row) => row[index] === true).length);
  const most = Math.max(...counts);
  const best = point.candidates[counts.indexOf(most)];
  if (!finding.contradicted && rows.length >= AGREEING_LEAST * all.length) {
    const left = point.candidates.filter((_, index) => counts[index] === most);
    return { finding: { ...finding, compared: all.length }, best, left };
  }
  const value = most > all.length / 2 ? best : point.candidates[0];
  const note = `no value explains ${all.length - rows.length} of ${all.length} facts; the best, ${describeValue(best)}, explains ${most}`;
  const found = { source: 'default', value, compared: all.length, confidence: null, note, contradicted: true } as const;
  return { finding: { ...finding, ...found }, best, left: [] };
}

/** Describes the value of a point, for notes. */
export function describeValue(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  const isObject = typeof value === 'object' && value !== null;
  return isObject
    ? Object.entries(value)
        .map(([name, part]) => `${name} ${String(part)}`)
        .join(', ')
    : String(value);
}

/** Returns how many outcomes of questions can be told apart, if each candidate in turn is upstream's. */
export async function countOutcomes(...parts: Parameters<typeof outcomesOf>): Promise<number> {
  return (await outcomesOf(...parts)).size;
}

/** Returns the information in the responses to questions, in bits, if all candidates are equally likely. */
export async function informationOf(...parts: Parameters<typeof outcomesOf>): Promise<number> {
  const outcomes = await outcomesOf(...parts);
  const total = parts[2].length;
  return [...outcomes.values()].reduce((bits, count) => bits - (count / total) * Math.log2(count / total), 0);
}

// The number of candidates by outcome.
async function outcomesOf(
  point: CalibrationPoint,
  questions: readonly ReportQuestion[],
  candidates: readonly unknown[],
  { conventions, compute, askedAt }: Pick<PointEvidence, 'conventions' | 'compute'> & { readonly askedAt: number },
): Promise<Map<string, number>> {
  const outcomes = new Map<string, number>();
  for (const candidate of candidates) {
    const facts: unknown[] = [];
    for (const question of questions) {
      const response = await compute(question, askedAt, withCandidate(point, conventions, candidate));
      const own = point.facts(response, question);
      facts.push(
        own.kind === 'values'
          ? [...own.values].toSorted()
          : own.kind === 'set'
            ? [...own.members].toSorted()
            : own.members,
      );
    }
    const outcome = JSON.stringify(facts);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  return outcomes;
}
