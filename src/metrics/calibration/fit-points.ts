import { isDeepStrictEqual } from 'node:util';
import { toCanonicalJson } from '../../base/json.ts';
import { AGREEING_LEAST, type Finding, LISTED_MAX, spread, wilsonLow } from './candidates.ts';
import { type Agreement, compareFacts, countFacts } from './compare-facts.ts';
import type { Conventions } from './conventions.ts';
import { describeConvention } from './descriptions.ts';
import { distinct, roundedFacts, unrounded } from './forms.ts';
import {
  type CalibrationPoint,
  type Candidate,
  type Facts,
  isAbout,
  type KnownAnswer,
  type PointContext,
  usedCandidate,
  withCandidate,
} from './points/point.ts';

/** Maximum number of responses that are compared per point. */
const ANSWERS_MAX = 24;
/** Rounds of fitting: the value of one point may depend on those of others. */
const ROUNDS_MAX = 5;

/** Findings by the name of the convention. */
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
 * Finds the values of each point: the candidate with which the stored data give the facts of upstream's responses. Points are fitted
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
      conventions = withCandidate(conventions, fitted.best);
    }
    if (isDeepStrictEqual(before, conventions)) break;
  }
  return findings;
}

// Adds the candidate used so far and, unless it is determined, those that the responses suggest.
async function withFound(
  point: CalibrationPoint,
  context: PointContext,
  isDetermined: boolean,
): Promise<CalibrationPoint> {
  if (point.candidatesIn === undefined) return point;
  const used = usedCandidate(point, context.conventions);
  const found = isDetermined ? [] : await point.candidatesIn(context);
  return { ...point, candidates: distinct([...point.candidates, used, ...found]) };
}

interface FittedPoint {
  readonly findings: PointFindings;
  /** Whether each fact of upstream is explained by a candidate. */
  readonly isExplained: boolean;
  /** The candidate with which other points are fitted. */
  readonly best: Candidate;
}

async function fitPoint(point: CalibrationPoint, evidence: PointEvidence): Promise<FittedPoint> {
  const fitted = await fitCandidates(point, evidence);
  if (point.inferIn === undefined || fitted.isExplained) return fitted;
  const inferred = await point.inferIn(evidence);
  return fitCandidates({ ...point, candidates: [...point.candidates, ...inferred] }, evidence);
}

async function fitCandidates(declared: CalibrationPoint, evidence: PointEvidence): Promise<FittedPoint> {
  const before: ReadonlyMap<string, KnownFinding> = evidence.known ?? new Map();
  const isKnown = declared.names.every((name) => before.get(name)?.source === 'learned');
  const point = await withFound(declared, evidence, isKnown);
  const left = candidatesLeft(point, before);
  const narrowed = { ...point, candidates: left };
  const rows = await readAgreements(narrowed, evidence);
  // After upstream has changed a name, its facts have other subjects.
  const isForeign =
    isKnown && point.isOpen === true && rows.length > 0 && rows.every(({ rows: own }) => own.length === 0);
  const isContradicted = isForeign || rows.some(({ rows: own }) => !own.every(isExplained));
  const known = { findings: knownFindings(point, before, left), best: left[0] ?? {}, isExplained: !isContradicted };
  const hasEvidence = rows.some(({ rows: own }) => own.length > 0);
  if (!isContradicted && (isKnown || (!hasEvidence && left.length < point.candidates.length))) return known;
  const fitted = chooseCandidate(narrowed, rows, evidence.conventions);
  if (!isContradicted || (!isKnown && left.length === point.candidates.length)) return fitted;
  const every = isKnown ? await withFound(declared, evidence, false) : point;
  const all = chooseCandidate(every, await readAgreements(every, evidence), evidence.conventions);
  // Responses that came after a report may explain the difference, so it takes evidence for another value.
  if (all.isDecided) return all;
  if (isKnown) return known;
  return left.some((one) => all.left.includes(one)) ? fitted : all;
}

// The candidates that the previous calibration has left; all of them if it had no evidence, or if no candidate explained it.
function candidatesLeft(
  { names, candidates }: CalibrationPoint,
  known: ReadonlyMap<string, KnownFinding>,
): readonly Candidate[] {
  const left = candidates.filter((candidate) =>
    names.every(
      (name) => valuesLeft(known.get(name))?.some((value) => isDeepStrictEqual(value, candidate[name])) ?? true,
    ),
  );
  return left.length === 0 ? candidates : left;
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
  { names }: CalibrationPoint,
  known: ReadonlyMap<string, KnownFinding>,
  left: readonly Candidate[],
): PointFindings {
  return Object.fromEntries(
    names.flatMap((name) => {
      const finding = known.get(name);
      return finding === undefined ? [] : [[name, { ...finding, left: left.map((one) => one[name]) }]];
    }),
  );
}

interface AnswerRows {
  readonly answer: KnownAnswer;
  readonly rows: readonly Agreement[];
  /** Whether all facts of upstream are compared. */
  readonly isWhole: boolean;
}

function isExplained(row: Agreement): boolean {
  return row.includes(true);
}

interface ChosenCandidate extends FittedPoint {
  /** Whether one candidate is determined, or all are contradicted. */
  readonly isDecided: boolean;
  /** The candidates that explain most facts. */
  readonly left: readonly Candidate[];
}

// Chooses the candidate that explains most facts; ties go to the first. It is learned if it explains at least 95 % of all facts and of the
// separating ones, which some candidates explain and others do not, and if no other candidate explains as many. A fact that no candidate
// explains is evidence against all of them, unless responses that came after a report may explain it. A value that all candidates have that
// explain as many is learned even if their other values differ.
function chooseCandidate(
  point: CalibrationPoint,
  all: readonly AnswerRows[],
  conventions: Conventions,
): ChosenCandidate {
  const { names, candidates, least = 1, settles } = point;
  const rows = all.flatMap(({ rows: own }) => own);
  const explained = rows.filter(isExplained);
  const unexplained = rows.length - explained.length;
  const settled = all.flatMap(({ answer, rows: own }) => (answer.isSettled ? own : own.filter(isExplained)));
  const counts = candidates.map((_, index) => explained.filter((row) => row[index] === true).length);
  const agreed = Math.max(...counts);
  const bestIndex = counts.indexOf(agreed);
  const best = candidates[bestIndex] ?? {};
  const left = candidates.filter((_, index) => counts[index] === agreed);
  const separating = explained.filter((row) => point.isOpen === true || row.includes(false));
  const separatingAgreed = separating.filter((row) => row[bestIndex] === true).length;
  const fits = agreed >= AGREEING_LEAST * explained.length && separatingAgreed >= AGREEING_LEAST * separating.length;
  const contradicted = (!fits && explained.length >= least) || explained.length < AGREEING_LEAST * settled.length;
  const isShown = !contradicted && fits && agreed >= least && separatingAgreed > 0;
  const partOf = (candidate: Candidate, name: keyof Conventions): unknown => {
    const settle = settles?.[name];
    return settle === undefined ? candidate[name] : settle(withCandidate(conventions, candidate));
  };
  const isAlone = (name: keyof Conventions): boolean =>
    left.every((one) => isDeepStrictEqual(partOf(one, name), partOf(best, name)));
  // A few of many numbers may differ for other reasons.
  const areFew = unexplained === 0 || (point.rounds !== undefined && explained.length >= AGREEING_LEAST * rows.length);
  const isUsed = !contradicted || agreed > settled.length / 2;
  const findingOf = (name: keyof Conventions): Finding<unknown> => {
    const isFound = isShown && isAlone(name);
    const isLearned = isFound && areFew;
    const described = describeConvention(name, best[name]);
    const rest = areFew ? '' : `; no value explains ${unexplained} other ${unexplained === 1 ? 'fact' : 'facts'}`;
    const failing = settled.length - explained.length;
    const note = contradicted
      ? `no value explains ${failing} of ${settled.length} facts; the best, ${described}, explains ${agreed}`
      : isFound
        ? `${described}${rest}`
        : tooLittle(explained.length, separatingAgreed);
    return {
      value: isUsed ? best[name] : candidates[0]?.[name],
      source: isLearned ? 'learned' : 'default',
      compared: settled.length,
      agreed,
      note,
      contradicted,
      confidence: isLearned ? wilsonLow(separatingAgreed, separating.length) : null,
      candidates: bestOf(candidates, name, counts),
      left: contradicted ? [] : distinct(left.map((candidate) => candidate[name])),
    };
  };
  return {
    findings: Object.fromEntries(names.map((name) => [name, findingOf(name)])),
    best,
    isExplained: unexplained === 0 && all.every(({ isWhole }) => isWhole),
    isDecided: contradicted || (isShown && areFew && names.every(isAlone)),
    left: contradicted ? [] : left,
  };
}

// The values of a convention, each with the most facts that a candidate with it explains.
function bestOf(
  candidates: readonly Candidate[],
  name: keyof Conventions,
  counts: readonly number[],
): Finding<unknown>['candidates'] {
  const ordered = candidates
    .map((candidate, index) => ({ value: candidate[name], agreed: counts[index] ?? 0 }))
    .toSorted((a, b) => b.agreed - a.agreed);
  const first = new Map(ordered.toReversed().map((one) => [toCanonicalJson(one.value), one]));
  return ordered.filter((one) => first.get(toCanonicalJson(one.value)) === one).slice(0, LISTED_MAX);
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
    const factsOf = async (candidate: Candidate): Promise<Facts> => {
      const response = await compute(answer, answer.askedAt, withCandidate(conventions, candidate));
      return point.facts(response, answer);
    };
    const { compared, ours } = await candidateFacts({ ...point, candidates: left }, theirs, factsOf);
    const own = compareFacts(compared, ours, point.isPartial);
    const indexes = point.candidates.map((candidate) => left.indexOf(candidate));
    const rows = own.map((row) => indexes.map((at) => (at < 0 ? isExplained(row) : row[at] === true)));
    all.push({ answer, rows, isWhole: own.length >= countFacts(compared) });
    const explaining = left.filter((_, index) => own.every((row) => row[index] === true));
    if (explaining.length > 0) left = explaining;
  }
  return all;
}

/** Maximum number of numbers of a response that are compared, evenly spaced. */
const NUMBERS_MAX = 2_000;

// Returns the facts of each candidate, and those of upstream to compare them with.
async function candidateFacts(
  { rounds, candidates }: CalibrationPoint,
  theirs: Facts,
  factsOf: (candidate: Candidate) => Promise<Facts>,
) {
  const ours: Facts[] = [];
  if (rounds === undefined || theirs.kind !== 'values') {
    for (const candidate of candidates) ours.push(await factsOf(candidate));
    return { compared: theirs, ours };
  }
  const compared: Facts = { kind: 'values', values: new Map(spread([...theirs.values], NUMBERS_MAX)) };
  const exact = new Map<string, Facts>();
  for (const candidate of candidates) {
    const base = unrounded(candidate, rounds);
    const key = toCanonicalJson(base);
    const facts = exact.get(key) ?? (await factsOf(base));
    exact.set(key, facts);
    ours.push(roundedFacts(facts, candidate, rounds, compared));
  }
  return { compared, ours };
}
