import { type Catalogue, providerOf } from '../../contract/catalogue.ts';
import { checkKnown, ParameterError, readQuery } from '../../contract/query-parameters.ts';
import { columnAt, ownKeyOf } from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { quoted, utc } from '../../warehouse/schema.ts';
import { readValueLists, type ValuesOf } from '../../warehouse/value-lists.ts';
import { readReportedBrand } from '../numbers/brand.ts';
import { computeReport } from '../numbers/reports.ts';
import { type Finding, findBest, isEqual } from './candidates.ts';
import { type Agreement, compareFacts, countFacts } from './compare-facts.ts';
import type { Conventions } from './conventions.ts';
import type {
  CalibrationPoint,
  Compared,
  Facts,
  KnownAnswer,
  ReportQuestion,
  StoredAgreements,
} from './points/point.ts';
import { isValid, packRows, unpackRows } from './stored-agreements.ts';

/** Computes the response to a question from the stored data, with some conventions. */
export type Compute = (question: ReportQuestion, askedAt: number, conventions: Conventions) => Promise<Compared>;

/** Maximum number of responses that one calibration compares per point. Earlier comparisons are kept. */
const ANSWERS_MAX = 12;
/** Rounds of fitting: the value of one point may depend on those of others. */
const ROUNDS_MAX = 3;

/** Findings by the name of the point. */
export type PointFindings = Readonly<Record<string, Finding<unknown>>>;

/** Inputs of `fitPoints`. */
export interface PointEvidence {
  readonly points: readonly CalibrationPoint[];
  /** Responses of upstream: to questions first, then reports, newest first. */
  readonly answers: readonly KnownAnswer[];
  /** The conventions found from other evidence; for registry points, those of the calibration before. */
  readonly conventions: Conventions;
  readonly compute: Compute;
}

/** Results of statements, by statement and parameters. */
export type KnownResults = Map<string, Promise<unknown[][]>>;

/** Options of `createCompute`. */
export interface ComputeOptions {
  readonly catalogue: Catalogue;
  /** Whether a response may list the same competitor twice. */
  readonly mayRepeat: boolean;
  /** Pass the same map again as long as the stored data do not change. */
  readonly known?: KnownResults;
}

/**
 * Returns the function that computes responses from stored data. Equal statements of one calibration are run once, because candidates
 * differ mostly in what they do with the rows.
 */
export function createCompute(query: Query, { catalogue, mayRepeat, known = new Map() }: ComputeOptions): Compute {
  const once: Query = (sql, parameters = []) => {
    const key = JSON.stringify([sql, parameters]);
    const found = known.get(key) ?? query(sql, parameters);
    known.set(key, found);
    return found;
  };
  let lists: Promise<ValuesOf> | undefined;
  const valuesOf = (): Promise<ValuesOf> => {
    lists ??= readValueLists(query, catalogue);
    return lists;
  };
  return async ({ resource: name, brandId, query: given }, askedAt, conventions) => {
    const resource = catalogue.get(name);
    try {
      const options = { rules: conventions };
      const asked = readQuery(resource.query, new URLSearchParams(given), askedAt, options);
      checkKnown(resource.query, asked, await valuesOf(), options);
      const since = await readSince(once, catalogue, brandId);
      const brand = await readReportedBrand(once, catalogue, brandId, since, conventions);
      const request = { catalogue, query: once, conventions, brand, resource, asked, nowMs: askedAt, mayRepeat };
      const { beside, rows } = await computeReport(resource.computes ?? 'by-nothing', request);
      return { status: 200, body: { ...beside, data: rows } };
    } catch (thrown) {
      if (thrown instanceof ParameterError) return { status: thrown.isMissing ? 404 : 400, body: null };
      throw thrown;
    }
  };
}

// The first day with data of a brand, as in its list.
async function readSince(query: Query, catalogue: Catalogue, brandId: string): Promise<string | null> {
  const provider = providerOf(catalogue, 'brand');
  const [table] = provider.derived;
  const column = table === undefined ? null : columnAt(table, provider.provides?.since ?? '');
  if (table === undefined || column === null) return null;
  const [row] = await query(
    `SELECT strftime(${utc(quoted(column.name))}, '%Y-%m-%d') FROM ${quoted(table.name)} WHERE ${quoted(ownKeyOf(table))} = CAST($1 AS UUID)`,
    [brandId],
  );
  return (row?.[0] ?? null) as string | null;
}

/**
 * Finds the value of each point: the candidate with which the stored data give the facts of upstream's responses. Points are fitted
 * in rounds, each with the best candidates of the others so far.
 */
export async function fitPoints(evidence: PointEvidence): Promise<PointFindings> {
  let { conventions } = evidence;
  let findings: Record<string, Finding<unknown>> = {};
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = conventions;
    findings = {};
    for (const point of evidence.points) {
      const { finding, best } = await fitPoint(point, { ...evidence, conventions });
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
): Promise<{ finding: Finding<unknown>; best: unknown }> {
  const all = await readAgreements(point, evidence);
  const fitted = fitRows(
    point,
    all.flatMap(({ rows }) => rows),
  );
  if (!fitted.finding.contradicted) return fitted;
  // Upstream may have changed since the earlier responses.
  const latest = fitRows(
    point,
    all.flatMap(({ rows, isFresh }) => (isFresh ? rows : [])),
  );
  return latest.finding.source === 'learned' ? latest : fitted;
}

interface AnswerRows {
  readonly isFresh: boolean;
  readonly rows: readonly Agreement[];
}

// Agreements are computed while the stored data are those that the response describes, and are kept for later calibrations.
async function readAgreements(point: CalibrationPoint, evidence: PointEvidence): Promise<AnswerRows[]> {
  const all: AnswerRows[] = [];
  let computed = 0;
  for (const answer of evidence.answers.filter(({ resource }) => point.resources.includes(resource))) {
    const { isFresh } = answer;
    const before = answer.agreements.get(point.name);
    if (before !== undefined && isValid(before, point, evidence, isFresh)) {
      all.push({ isFresh, rows: unpackRows(before) });
    } else if (isFresh && computed < ANSWERS_MAX) {
      const theirs = point.facts(answer, answer);
      if (countFacts(theirs) === 0) continue;
      const now = await compareAnswer(point, answer, theirs, evidence);
      answer.agreements.set(point.name, now);
      all.push({ isFresh, rows: unpackRows(now) });
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
    const watched = new Proxy<Conventions>(
      { ...conventions, [point.name]: candidate },
      {
        get: (target, name) => {
          if (name !== point.name && Object.hasOwn(target, name)) reads.add(name as keyof Conventions);
          return Reflect.get(target, name) as unknown;
        },
      },
    );
    ours.push(point.facts(await compute(answer, answer.askedAt, watched), answer));
  }
  const found = compareFacts(theirs, ours);
  // A report may count responses that came after the stored ones, so facts that nothing explains are no evidence.
  const rows = answer.isReport ? found.filter((row) => row.includes(true)) : found;
  return packRows(rows, point, evidence, [...reads]);
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
