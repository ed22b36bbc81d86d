import { AGREEING_LEAST, canonical, type Finding, isEqual, LISTED_MAX, spread, wilsonLow } from './candidates.ts';
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
  usedCandidate,
  valueIn,
  withCandidate,
} from './points/point.ts';

/** Maximum number of responses that are compared per point. */
const ANSWERS_MAX = 24;
/** Rounds of fitting: the value of one point may depend on those of others. */
const ROUNDS_MAX = 5;

/** Findings by the name of the point. */
export type PointFindings = Readonly<Record<string, Finding<unknown>>>;

/** A finding of the previous calibration. */
type KnownFinding = Omit<Finding<unknown>, 'left'>;

/** Inputs of `fitPoints`. */
export interface PointEvidence extends PointContext {
  readonly points: readonly CalibrationPoint[];
  /** Findings of the previous calibration, by convention. */
  readonly known?: ReadonlyMap<string, KnownFinding>;
}

/**
 * Finds the value of each point: the candidate with which the stored data give the facts of upstream's responses. Points are fitted
 * in rounds, each with the best candidates of the others so far. Candidates that an earlier calibration has ruled out stay ruled out, and
 * a determined value stays determined, until a response contradicts it.
 */
export async function fitPoints(evidence: PointEvidence): Promise<PointFindings> {
  let { conventions } = evidence;
  let findings: Record<string, Finding<unknown>> = {};
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
  const used = usedCandidate(point, context.conventions);
  const found = isDetermined ? [] : await point.candidatesIn(context);
  return { ...point, candidates: distinct([...point.candidates, used, ...found]) as CalibrationPoint['candidates'] };
}

interface FittedPoint {
  readonly finding: Finding<unknown>;
  /** The candidate with which other points are fitted. */
  readonly best: unknown;
}

async function fitPoint(
  declared: CalibrationPoint,
  evidence: PointEvidence,
): Promise<{ readonly findings: Record<string, Finding<unknown>>; readonly best: unknown }> {
  const before = evidence.known ?? new Map();
  const isKnown = [...membersOf(declared).keys()].every((name) => before.get(name)?.source === 'learned');
  const point = await withFound(declared, evidence, isKnown);
  const left = candidatesLeft(point, before);
  const narrowed = { ...point, candidates: left };
  const rows = await readAgreements(narrowed, evidence);
  // After upstream has changed a name, its facts have other subjects.
  const isForeign =
    isKnown && point.isOpen === true && rows.length > 0 && rows.every(({ rows: own }) => own.length === 0);
  const isContradicted = isForeign || rows.some(({ rows: own }) => !own.every(isExplained));
  const known = { findings: knownFindings(point, evidence, left), best: left[0] };
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
  const chosen = isUndecided && left.some((one) => others.includes(one)) ? fitted : all;
  return { findings: findingsOf(every, chosen), best: chosen.best };
}

// The candidates that the previous calibration has left; all of them if it had no evidence, or if no candidate explained it.
function candidatesLeft(
  point: CalibrationPoint,
  known: ReadonlyMap<string, KnownFinding>,
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
function valuesLeft(finding: KnownFinding | undefined): readonly unknown[] | null {
  if (finding === undefined || finding.contradicted || finding.compared === 0) return null;
  if (finding.source === 'learned') return [finding.value];
  const { candidates } = finding;
  const best = candidates.filter(({ agreed }) => agreed === candidates[0]?.agreed);
  return best.length >= LISTED_MAX ? null : best.map(({ value }) => value);
}

function knownFindings(
  point: CalibrationPoint,
  { known }: PointEvidence,
  left: readonly unknown[],
): Record<string, Finding<unknown>> {
  return Object.fromEntries(
    [...membersOf(point).keys()].flatMap((name) => {
      const finding = known?.get(name);
      return finding === undefined ? [] : [[name, { ...finding, left: left.map((one) => valueIn(one, name)) }]];
    }),
  );
}

// Points that are decided together have a finding each: a value is determined if all candidates that are left have it.
function findingsOf(point: CalibrationPoint, { finding, best }: FittedPoint): Record<string, Finding<unknown>> {
  if (point.members === undefined) return { [point.name]: finding };
  const { compared, agreed, contradicted, left } = finding;
  const used = finding.source === 'learned' ? [best] : left;
  return Object.fromEntries(
    [...membersOf(point).keys()].map((name) => {
      const values = distinct(used.map((candidate) => valueIn(candidate, name)));
      const isLearned = values.length === 1 && agreed > 0 && !contradicted;
      const value = valueIn(contradicted ? point.candidates[0] : best, name);
      const note = isLearned
        ? describeConvention(name, value)
        : contradicted || compared === 0
          ? finding.note
          : `too little evidence: ${values.map((one) => describeConvention(name, one)).join(' or ')}`;
      const candidates = values.map((one) => ({ value: one, agreed }));
      const source = isLearned ? ('learned' as const) : ('default' as const);
      const confidence = isLearned ? wilsonLow(agreed, agreed) : null;
      const own = distinct(left.map((candidate) => valueIn(candidate, name)));
      return [name, { value, source, compared, agreed, note, contradicted, confidence, candidates, left: own }];
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

// Chooses the candidate that explains most facts; ties go to the first. It is learned if it explains at least 95 % of all facts and of the
// separating ones, which some candidates explain and others do not, and if no other candidate explains as many. A fact that no candidate
// explains is evidence against all of them, unless responses that came after a report may explain it.
function fitAnswers(point: CalibrationPoint, all: readonly AnswerRows[], conventions: Conventions): FittedPoint {
  const { candidates, least = 1, settles = (candidate: unknown) => candidate } = point;
  const rows = all.flatMap(({ rows: own }) => own);
  const explained = rows.filter(isExplained);
  const unexplained = rows.length - explained.length;
  const settled = all.flatMap(({ answer, rows: own }) => (answer.isSettled ? own : own.filter(isExplained)));
  const counts = candidates.map((_, index) => explained.filter((row) => row[index] === true).length);
  const agreed = Math.max(...counts);
  const bestIndex = counts.indexOf(agreed);
  const best = candidates[bestIndex];
  const left = candidates.filter((_, index) => counts[index] === agreed);
  const separating = explained.filter((row) => point.isOpen === true || row.includes(false));
  const separatingAgreed = separating.filter((row) => row[bestIndex] === true).length;
  const fits = agreed >= AGREEING_LEAST * explained.length && separatingAgreed >= AGREEING_LEAST * separating.length;
  const listed = candidates
    .map((value, index) => ({ value: value as unknown, agreed: counts[index] ?? 0 }))
    .toSorted((a, b) => b.agreed - a.agreed)
    .slice(0, LISTED_MAX);
  const common = { compared: settled.length, agreed, candidates: listed };
  if ((!fits && explained.length >= least) || explained.length < AGREEING_LEAST * settled.length) {
    const value = agreed > settled.length / 2 ? best : candidates[0];
    const note = `no value explains ${settled.length - explained.length} of ${settled.length} facts; the best, ${describeCandidate(point, best)}, explains ${agreed}`;
    const finding = {
      ...common,
      value,
      source: 'default',
      note,
      contradicted: true,
      confidence: null,
      left: [],
    } as const;
    return { finding, best };
  }
  const isShown = fits && agreed >= least && separatingAgreed > 0;
  const isAlone = left.every((one) => isEqual(settles(one as never, conventions), settles(best as never, conventions)));
  // A few of many numbers may differ for other reasons.
  const areFew = unexplained === 0 || (point.rounds !== undefined && explained.length >= AGREEING_LEAST * rows.length);
  const isLearned = isShown && isAlone && areFew;
  const described = `${describeCandidate(point, best)}${areFew ? '' : `; no value explains ${unexplained} other ${unexplained === 1 ? 'fact' : 'facts'}`}`;
  const note = isShown && isAlone ? described : tooLittle(explained.length, separatingAgreed);
  return {
    finding: {
      ...common,
      value: isShown ? best : candidates[0],
      source: isLearned ? 'learned' : 'default',
      note,
      contradicted: false,
      confidence: isLearned ? wilsonLow(separatingAgreed, separating.length) : null,
      left,
    },
    best,
  };
}

function tooLittle(facts: number, separating: number): string {
  if (facts === 0) return 'too little evidence: no rows to compare';
  return `too little evidence: ${separating === 0 ? 'all' : 'several'} values explain the ${facts} facts`;
}

// Compares the newest responses, or those with most numbers, with the responses that each candidate gives. After a response has ruled out a
// candidate, no further response is computed with it: it counts as explaining the facts that any other candidate explains.
async function readAgreements(point: CalibrationPoint, { answers, conventions, compute }: PointEvidence) {
  const about = answers.flatMap((answer) => {
    const theirs = isAbout(point, answer) ? point.facts(answer, answer) : null;
    // A report without rows is evidence for which rows exist.
    return theirs === null || (countFacts(theirs) === 0 && theirs.kind !== 'set') ? [] : [{ answer, theirs }];
  });
  const all: AnswerRows[] = [];
  const ordered =
    point.rounds === undefined ? about : about.toSorted((a, b) => countFacts(b.theirs) - countFacts(a.theirs));
  let left = point.candidates;
  for (const { answer, theirs } of ordered.slice(0, ANSWERS_MAX)) {
    const factsOf = async (candidate: unknown): Promise<Facts> => {
      const response = await compute(answer, answer.askedAt, withCandidate(point, conventions, candidate));
      return point.facts(response, answer);
    };
    const { compared, ours } = await candidateFacts({ ...point, candidates: left }, theirs, factsOf);
    const own = compareFacts(compared, ours, point.isPartial);
    const indexes = point.candidates.map((candidate) => left.indexOf(candidate));
    all.push({ answer, rows: own.map((row) => indexes.map((at) => (at < 0 ? isExplained(row) : row[at] === true))) });
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

// Describes a candidate, for notes.
function describeCandidate({ name, members }: CalibrationPoint, candidate: unknown): string {
  if (members === undefined) return describeConvention(name, candidate);
  const values = Object.entries(candidate as Partial<Conventions>) as [keyof Conventions, unknown][];
  return values.map(([member, value]) => `${member} ${describeConvention(member, value)}`).join(', ');
}
