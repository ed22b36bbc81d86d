import { type Catalogue, providerOf } from '../../contract/catalogue.ts';
import { checkKnown, ParameterError, readQuery } from '../../contract/query-parameters.ts';
import { columnAt, ownKeyOf } from '../../warehouse/conditions.ts';
import type { Query } from '../../warehouse/database.ts';
import { quoted, utc } from '../../warehouse/schema.ts';
import { readValueLists, type ValuesOf } from '../../warehouse/value-lists.ts';
import { readReportedBrand } from '../numbers/brand.ts';
import { computeReport } from '../numbers/reports.ts';
import { type Finding, findBest, isEqual, isSame } from './candidates.ts';
import type { Conventions } from './conventions.ts';
import type { CalibrationPoint, Compared, Facts, KnownAnswer, ReportQuestion } from './points/point.ts';

/** Computes the response to a question from the stored data, with some conventions. */
export type Compute = (question: ReportQuestion, askedAt: number, conventions: Conventions) => Promise<Compared>;

/** Maximum number of responses that are compared per point, newest first. */
const ANSWERS_MAX = 12;
/** Rounds of fitting: the value of one point may depend on those of others. */
const ROUNDS_MAX = 3;

/** Findings by the name of the point. */
export type PointFindings = Readonly<Record<string, Finding<unknown>>>;

/** Inputs of `fitPoints`. */
export interface PointEvidence {
  readonly points: readonly CalibrationPoint[];
  /** Responses of upstream, newest first. */
  readonly answers: readonly KnownAnswer[];
  /** The conventions found from other evidence; registry points have their defaults. */
  readonly conventions: Conventions;
  readonly compute: Compute;
}

/**
 * Returns the function that computes responses from stored data. Equal statements of one calibration are run once, because candidates
 * differ mostly in what they do with the rows.
 */
export function createCompute(
  query: Query,
  { catalogue, mayRepeat }: { readonly catalogue: Catalogue; readonly mayRepeat: boolean },
): Compute {
  const known = new Map<string, Promise<unknown[][]>>();
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
      const brand = await readReportedBrand(once, catalogue, brandId, await readSince(once, catalogue, brandId));
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

/** Whether each candidate gives one fact of upstream. */
type Agreement = readonly boolean[];

async function fitPoint(
  point: CalibrationPoint,
  { answers, conventions, compute }: PointEvidence,
): Promise<{ finding: Finding<unknown>; best: unknown }> {
  const rows: Agreement[] = [];
  for (const answer of answers.filter(({ resource }) => point.resources.includes(resource)).slice(0, ANSWERS_MAX)) {
    const theirs = point.facts(answer, answer);
    const ours: Facts[] = [];
    for (const candidate of point.candidates) {
      const own = await compute(answer, answer.askedAt, { ...conventions, [point.name]: candidate });
      ours.push(point.facts(own, answer));
    }
    // A report may count responses that came after the stored ones, so facts that nothing explains are no evidence.
    const found = agreements(theirs, ours);
    rows.push(...(answer.isReport ? found.filter((row) => row.includes(true)) : found));
  }
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

/** Compares the facts of upstream with those of each candidate. */
function agreements(theirs: Facts, ours: readonly Facts[]): Agreement[] {
  switch (theirs.kind) {
    case 'values': {
      const sides = ours.map((facts) => (facts.kind === 'values' ? facts.values : new Map<string, unknown>()));
      const shared = [...theirs.values].filter(([subject]) => sides.some((side) => side.has(subject)));
      return shared.map(([subject, value]) =>
        sides.map((side) => side.has(subject) && isAlike(value, side.get(subject))),
      );
    }
    case 'set': {
      const sides = ours.map((facts) => (facts.kind === 'set' ? facts.members : new Set<string>()));
      const members = new Set([...theirs.members, ...sides.flatMap((side) => [...side])]);
      return [...members].map((member) => sides.map((side) => side.has(member) === theirs.members.has(member)));
    }
    case 'order':
      return orderAgreements(
        theirs.members,
        ours.map((facts) => (facts.kind === 'order' ? facts.members : [])),
      );
  }
}

// Only members that all sides have are compared, by their neighbours: moving one row changes few facts.
function orderAgreements(theirs: readonly string[], ours: readonly (readonly string[])[]): Agreement[] {
  const common = theirs.filter((member) => ours.every((side) => side.includes(member)));
  const kept = new Set(common);
  const places = ours.map(
    (side) => new Map(side.filter((member) => kept.has(member)).map((member, index) => [member, index])),
  );
  return common.slice(1).map((member, index) => {
    const before = common[index] as string;
    return places.map((side) => (side.get(before) ?? 0) < (side.get(member) ?? 0));
  });
}

function isAlike(a: unknown, b: unknown): boolean {
  const left = a ?? null;
  const right = b ?? null;
  if (typeof left === 'number' && typeof right === 'number') return isSame(left, right);
  return isEqual(left, right);
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
    if (first !== undefined && agreements(facts.at(-1) as Facts, [first]).some(([agrees]) => agrees === false))
      return true;
  }
  return false;
}
