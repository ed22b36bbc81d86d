import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../base/json.ts';
import { roundings, shareForms } from './candidates-numbers.ts';
import type { Compute } from './compute-response.ts';
import type { Conventions, ShareForm } from './conventions.ts';
import { describeConvention } from './descriptions.ts';
import { type CalibrationPoint, type Compared, membersOf, type ReportQuestion } from './points/point.ts';
import { calibrationPoints } from './points/points.ts';

/** Maximum number of conventions in one explanation. */
const CONVENTIONS_MAX = 4;

/** A difference between two responses, as far as explanations need it. */
export interface Differing {
  /** Path of the field: `data[].title`. */
  readonly field: string;
  readonly upstream: unknown;
}

/** Returns the differences between the response of upstream and our own. */
export type FindDifferences = (theirs: Compared, ours: Compared) => readonly Differing[];

/** Values of conventions with which the stored data give the response of upstream. */
export interface Explanation {
  readonly values: Partial<Conventions>;
  /** `name: value` of each convention, separated by semicolons. */
  readonly text: string;
}

/** A convention with the values that may explain a difference. */
interface Suspect {
  readonly name: keyof Conventions;
  readonly candidates: readonly unknown[];
}

/** A convention that decides a field of reports, and is calibrated from single numbers instead of whole responses. */
interface FieldConvention {
  readonly name: keyof Conventions;
  /** The last part of the path of the field; null for rows. */
  readonly field: string | null;
  candidates(upstream: readonly unknown[]): readonly unknown[];
}

const formsOf = (extra: readonly Readonly<Record<string, string>>[]): unknown[] =>
  extra.flatMap((members) => shareForms.map((form: ShareForm) => ({ ...form, ...members })));
const changes = formsOf(['difference', 'relative'].flatMap((as) => ['exact', 'rounded'].map((of) => ({ as, of }))));

const fieldConventions: readonly FieldConvention[] = [
  ...['visibility', 'visibilityChange', 'shareOfVoice', 'share'].map((field): FieldConvention => ({
    name: 'emptyShare',
    field,
    candidates: () => [0, null],
  })),
  { name: 'emptyVoice', field: 'shareOfVoice', candidates: () => ['share', 0, null] },
  { name: 'emptyMean', field: 'avgPosition', candidates: () => [null, 0] },
  { name: 'emptyMean', field: 'sentiment', candidates: () => [null, 0] },
  { name: 'emptySentiment', field: 'sentiment', candidates: () => ['mean', 0, null] },
  { name: 'emptyChange', field: 'visibilityChange', candidates: () => [null, 0, 'visibility'] },
  { name: 'visibility', field: 'visibility', candidates: () => shareForms },
  { name: 'shareOfVoice', field: 'shareOfVoice', candidates: () => shareForms },
  { name: 'visibilityChange', field: 'visibilityChange', candidates: () => changes },
  { name: 'avgPosition', field: 'avgPosition', candidates: () => roundings },
  { name: 'sentiment', field: 'sentiment', candidates: () => roundings },
  { name: 'domainShare', field: 'share', candidates: () => formsOf([{ of: 'citations' }, { of: 'responses' }]) },
  { name: 'shareOfSite', field: 'shareOfSite', candidates: () => shareForms },
  { name: 'emptyDays', field: null, candidates: () => ['absent', 'zero'] },
  { name: 'combinedEngine', field: 'engine', candidates: (upstream) => upstream.filter(isTextOrNull) },
  // Rows are matched by their engine, so another name of it is a missing row.
  { name: 'combinedEngine', field: null, candidates: (upstream) => upstream.map(engineOf).filter(isTextOrNull) },
  { name: 'competitorType', field: 'entityType', candidates: (upstream) => upstream.filter(isText) },
  { name: 'topCompetitors', field: 'topCompetitors', candidates: () => [1, 2, 3, 4, 5, 10] },
];

/**
 * Returns the explanations of a differing response: the conventions with which the stored data give exactly upstream's response. Usually
 * one convention suffices; otherwise they are chosen one after the other, each the one that removes most differences. Several
 * explanations are returned if single candidates are equally good, the most likely first.
 */
export async function explainResponse(
  question: ReportQuestion,
  theirs: Compared,
  { askedAt, conventions, compute, find }: Explaining,
): Promise<readonly Explanation[]> {
  let chosen: Partial<Conventions> = {};
  let ours = await compute(question, askedAt, conventions);
  let left = find(theirs, ours);
  for (let round = 0; round < CONVENTIONS_MAX && left.length > 0; round++) {
    let fewest = find(theirs, ours).length;
    let best: { readonly values: Partial<Conventions>; readonly own: Compared }[] = [];
    for (const { name, candidates } of suspectsOf(question, theirs, ours, left)) {
      if (Object.hasOwn(chosen, name)) continue;
      for (const candidate of candidates) {
        if (isDeepStrictEqual(candidate, conventions[name])) continue;
        const values = { ...chosen, [name]: candidate };
        const own = await compute(question, askedAt, { ...conventions, ...values });
        const remaining = find(theirs, own).length;
        if (remaining < fewest) best = [];
        if (remaining < fewest || (remaining === fewest && best.length > 0)) best.push({ values, own });
        fewest = Math.min(fewest, remaining);
      }
    }
    const [first] = best;
    if (first === undefined) return [];
    if (fewest === 0) return best.map(({ values }) => ({ values, text: textOf(values) }));
    chosen = first.values;
    ours = first.own;
    left = find(theirs, ours);
  }
  return [];
}

/** What explanations are computed with. */
export interface Explaining {
  /** When upstream sent its response, epoch milliseconds. */
  readonly askedAt: number;
  readonly conventions: Conventions;
  readonly compute: Compute;
  /** Returns all differences. */
  readonly find: FindDifferences;
}

// A point with equal facts cannot explain a difference. No point explains a different status.
function suspectsOf(
  question: ReportQuestion,
  theirs: Compared,
  ours: Compared,
  differences: readonly Differing[],
): Suspect[] {
  if (theirs.status !== ours.status) return [];
  const points = calibrationPoints.filter(
    (point) => !isDeepStrictEqual(point.facts(theirs, question), point.facts(ours, question)),
  );
  const ofFields = fieldConventions.flatMap(({ name, field, candidates }): Suspect[] => {
    const concerned = differences.filter((difference) => lastPart(difference.field) === field);
    if (concerned.length === 0) return [];
    return [{ name, candidates: [...new Set(candidates(concerned.map(({ upstream }) => upstream)))] }];
  });
  return [...points.flatMap(suspectsIn), ...ofFields];
}

function suspectsIn(point: CalibrationPoint): Suspect[] {
  const { name, members, candidates } = point;
  if (members === undefined) return [{ name, candidates }];
  const all = candidates as readonly Partial<Conventions>[];
  return [...membersOf(point).keys()].map((member) => ({
    name: member,
    candidates: [...new Set(all.map((candidate) => candidate[member]))],
  }));
}

// `topCompetitors` of `data[].topCompetitors[].name`, because rows within a row have no convention of their own fields.
function lastPart(path: string): string | null {
  const [list, field] = path.split('.');
  return field === undefined && list?.endsWith('[]') === true ? null : (field ?? list ?? '').replace(/\[\]$/, '');
}

function textOf(values: Partial<Conventions>): string {
  const names = Object.keys(values) as (keyof Conventions)[];
  return names.map((name) => `${name}: ${describeConvention(name, values[name])}`).join('; ');
}

function engineOf(row: unknown): unknown {
  return isRecord(row) ? row['engine'] : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}
