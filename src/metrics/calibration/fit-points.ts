import {
  AGREEING_LEAST,
  canonical,
  type Finding,
  findBest,
  isEqual,
  LISTED_MAX,
  spread,
  wilsonLow,
} from './candidates.ts';
import { type Agreement, compareFacts, countFacts } from './compare-facts.ts';
import type { Conventions } from './conventions.ts';
import { describeConvention } from './descriptions.ts';
import { distinct, roundedFacts, unrounded } from './forms.ts';
import {
  type CalibrationPoint,
  type Facts,
  isAbout,
  type KnownAnswer,
  membersOf,
  type PointContext,
  type ReportQuestion,
  valueIn,
  withCandidate,
} from './points/point.ts';

/** Maximum number of responses that are compared per point. */
const ANSWERS_MAX = 8;
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
export interface PointEvidence extends PointContext {
  readonly points: readonly CalibrationPoint[];
  /** Findings of the calibration before, by convention. */
  readonly known?: ReadonlyMap<string, Finding<unknown>>;
}

/**
 * Finds the value of each point: the candidate with which the stored data give the facts of upstream's responses. Points are fitted
 * in rounds, each with the best candidates of the others so far. Candidates that an earlier calibration has ruled out stay ruled out, and
 * a determined value stays determined, until a response contradicts it.
 */
export async function fitPoints(evidence: PointEvidence): Promise<PointFindings> {
  let { conventions } = evidence;
  let findings: Record<string, PointFinding> = {};
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = conventions;
    findings = {};
    for (const point of evidence.points) {
      const fitted = await fitPoint(point, { ...evidence, conventions });
      Object.assign(findings, fitted.findings);
      conventions = withCandidate(point, conventions, fitted.best);
    }
    if (isEqual(before, conventions)) break;
  }
  return findings;
}

// Adds the value used so far and, unless it is determined, those that the responses suggest.
async function withFound(
  point: CalibrationPoint,
  context: PointContext,
  isDetermined: boolean,
): Promise<CalibrationPoint> {
  if (point.candidatesIn === undefined) return point;
  const { conventions } = context;
  const { name, members } = point;
  const used =
    members === undefined
      ? conventions[name]
      : Object.fromEntries(Object.keys(members).map((member) => [member, conventions[member as keyof Conventions]]));
  const found = isDetermined ? [] : await point.candidatesIn(context);
  return { ...point, candidates: distinct([...point.candidates, used, ...found]) as CalibrationPoint['candidates'] };
}

interface FittedPoint {
  readonly finding: PointFinding;
  /** The candidate with which other points are fitted. */
  readonly best: unknown;
}

async function fitPoint(
  declared: CalibrationPoint,
  evidence: PointEvidence,
): Promise<{ readonly findings: Record<string, PointFinding>; readonly best: unknown }> {
  const before = evidence.known ?? new Map();
  const isKnown = [...membersOf(declared).keys()].every((name) => before.get(name)?.source === 'learned');
  const point = await withFound(declared, evidence, isKnown);
  const left = candidatesLeft(point, before);
  const narrowed = { ...point, candidates: left };
  const rows = await readAgreements(narrowed, evidence);
  // The facts of a name that upstream has changed have other subjects.
  const isForeign =
    isKnown && point.isOpen === true && rows.length > 0 && rows.every(({ rows: own }) => own.length === 0);
  const isContradicted = isForeign || rows.some(({ rows: own }) => !own.every(isExplained));
  const known = { findings: knownFindings(point, evidence, isKnown ? [] : left), best: left[0] };
  const hasEvidence = rows.some(({ rows: own }) => own.length > 0);
  if (!isContradicted && (isKnown || (!hasEvidence && left.length < point.candidates.length))) return known;
  const fitted = fitAnswers(narrowed, rows, evidence.conventions);
  if (!isContradicted || (!isKnown && left.length === point.candidates.length))
    return { findings: findingsOf(point, fitted), best: fitted.best };
  const every = isKnown ? await withFound(declared, evidence, false) : point;
  const all = fitAnswers(every, await readAgreements(every, evidence), evidence.conventions);
  const { source, contradicted, left: others } = all.finding;
  // Responses that came after a report may explain the difference, so it takes evidence for another value.
  const isUndecided = source !== 'learned' && !contradicted;
  if (isUndecided && isKnown) return known;
  const chosen = isUndecided && left.some((one) => others.includes(one as never)) ? fitted : all;
  return { findings: findingsOf(every, chosen), best: chosen.best };
}

// The candidates that the calibration before has left; all of them if it had no evidence, or if no candidate explained it.
function candidatesLeft(
  point: CalibrationPoint,
  known: ReadonlyMap<string, Finding<unknown>>,
): CalibrationPoint['candidates'] {
  const names = [...membersOf(point).keys()];
  const left = point.candidates.filter((candidate) =>
    names.every((name) => {
      const values = valuesLeft(known.get(name));
      return values === null || values.some((value) => isEqual(value, valueIn(candidate, name)));
    }),
  );
  return left.length === 0 ? point.candidates : left;
}

// The values that explain as many facts as the best; null if any value is possible.
function valuesLeft(finding: Finding<unknown> | undefined): readonly unknown[] | null {
  if (finding === undefined || finding.contradicted || finding.compared === 0) return null;
  if (finding.source === 'learned') return [finding.value];
  const { candidates = [] } = finding;
  const best = candidates.filter(({ agreed }) => agreed === candidates[0]?.agreed);
  return best.length >= LISTED_MAX ? null : best.map(({ value }) => value);
}

function knownFindings(
  point: CalibrationPoint,
  { known }: PointEvidence,
  left: readonly unknown[],
): Record<string, PointFinding> {
  return Object.fromEntries(
    [...membersOf(point).keys()].flatMap((name) => {
      const finding = known?.get(name);
      return finding === undefined ? [] : [[name, { ...finding, unexplained: [], left }]];
    }),
  );
}

// Points that are decided together have a finding each: a value is determined if all candidates that are left have it.
function findingsOf(point: CalibrationPoint, { finding, best }: FittedPoint): Record<string, PointFinding> {
  if (point.members === undefined) return { [point.name]: finding };
  const { compared, agreed, contradicted } = finding;
  const left = finding.source === 'learned' ? [best] : finding.left;
  return Object.fromEntries(
    [...membersOf(point).keys()].map((name) => {
      const values = distinct(left.map((candidate) => valueIn(candidate, name)));
      const isLearned = values.length === 1 && agreed > 0 && !contradicted;
      const value = valueIn(contradicted ? point.candidates[0] : best, name);
      const note = isLearned
        ? describeValue(name, value)
        : contradicted || compared === 0
          ? finding.note
          : `too little evidence: ${values.map((one) => describeValue(name, one)).join(' or ')}`;
      const candidates = values.map((one) => ({ value: one, agreed }));
      const source = isLearned ? ('learned' as const) : ('default' as const);
      const confidence = isLearned ? wilsonLow(agreed, agreed) : null;
      const alike = finding.alike?.map((candidate) => valueIn(candidate, name)) ?? [];
      return [name, { ...finding, value, source, compared, agreed, note, confidence, candidates, alike }];
    }),
  );
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
  // Of many numbers, a few may be odd.
  const isFew = count === 0 || (point.rounds !== undefined && rows.length >= AGREEING_LEAST * (rows.length + count));
  if (finding.source !== 'learned' || isFew) {
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

// Computes responses with each candidate: the newest, or those with most numbers. Candidates that a response rules out are not computed for
// the next ones, whose facts say nothing about them: they agree if any other candidate does.
async function readAgreements(point: CalibrationPoint, { answers, conventions, compute }: PointEvidence) {
  const told = answers.flatMap((answer) => {
    const theirs = isAbout(point, answer) ? point.facts(answer, answer) : null;
    // A report without rows says which rows exist.
    return theirs === null || (countFacts(theirs) === 0 && theirs.kind !== 'set') ? [] : [{ answer, theirs }];
  });
  const all: AnswerRows[] = [];
  const first =
    point.rounds === undefined ? told : told.toSorted((a, b) => countFacts(b.theirs) - countFacts(a.theirs));
  let left = point.candidates;
  for (const { answer, theirs } of first.slice(0, ANSWERS_MAX)) {
    const factsOf = async (candidate: unknown): Promise<Facts> => {
      const response = await compute(answer, answer.askedAt, withCandidate(point, conventions, candidate));
      return point.facts(response, answer);
    };
    const { compared, ours } = await candidateFacts({ ...point, candidates: left }, theirs, factsOf);
    const own = compareFacts(compared, ours, point.isPartial);
    const places = point.candidates.map((candidate) => left.indexOf(candidate));
    all.push({ answer, rows: own.map((row) => places.map((at) => (at < 0 ? isExplained(row) : row[at] === true))) });
    const explaining = left.filter((_, index) => own.every((row) => row[index] === true));
    if (explaining.length > 0) left = explaining;
  }
  return all;
}

/** Maximum number of numbers of a response that are compared, evenly spaced. */
const NUMBERS_MAX = 2_000;

// Returns the facts of each candidate, and those of upstream to compare them with.
async function candidateFacts(point: CalibrationPoint, theirs: Facts, factsOf: (candidate: unknown) => Promise<Facts>) {
  const { rounds, candidates } = point;
  const ours: Facts[] = [];
  if (rounds === undefined || theirs.kind !== 'values') {
    for (const candidate of candidates) ours.push(await factsOf(candidate));
    return { compared: theirs, ours };
  }
  const compared: Facts = { kind: 'values', values: new Map(spread([...theirs.values], NUMBERS_MAX)) };
  const exact = new Map<string, Facts>();
  for (const candidate of candidates) {
    const base = unrounded(candidate, rounds);
    const key = canonical(base);
    const facts = exact.get(key) ?? (await factsOf(base));
    exact.set(key, facts);
    ours.push(roundedFacts(facts, candidate, rounds, compared));
  }
  return { compared, ours };
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
    describe: (candidate) => describeCandidate(point, candidate),
    least: point.least ?? 1,
    open: point.isOpen === true,
  });
  const counts = point.candidates.map((_, index) => rows.filter((row) => row[index] === true).length);
  const most = Math.max(...counts);
  const best = point.candidates[counts.indexOf(most)];
  if (!finding.contradicted && rows.length >= AGREEING_LEAST * all.length) {
    const left = point.candidates.filter((_, index) => counts[index] === most);
    return { finding: { ...finding, compared: all.length }, best, left };
  }
  const value = most > all.length / 2 ? best : point.candidates[0];
  const note = `no value explains ${all.length - rows.length} of ${all.length} facts; the best, ${describeCandidate(point, best)}, explains ${most}`;
  const found = { source: 'default', value, compared: all.length, confidence: null, note, contradicted: true } as const;
  return { finding: { ...finding, ...found }, best, left: [] };
}

// Describes a candidate, for notes.
function describeCandidate({ name, members }: CalibrationPoint, candidate: unknown): string {
  if (members === undefined) return describeValue(name, candidate);
  const values = Object.entries(candidate as Partial<Conventions>) as [keyof Conventions, unknown][];
  return values.map(([member, value]) => `${member} ${describeValue(member, value)}`).join(', ');
}

function describeValue(name: keyof Conventions, value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'object' && value !== null ? describeConvention(name, value) : String(value);
}
