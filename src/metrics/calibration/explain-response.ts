import { isDeepStrictEqual } from 'node:util';
import type { Conventions } from './conventions.ts';
import { describeConvention } from './descriptions.ts';
import { distinct } from './forms.ts';
import { type CalibrationPoint, type Compared, type Compute, membersOf, type ReportQuestion } from './points/point.ts';
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

/**
 * Returns the explanations of a differing response: the conventions with which the stored data give exactly upstream's response. Usually
 * one convention suffices; otherwise they are chosen one after the other, each the one that removes most differences. Several
 * explanations are returned if single candidates are equally good, the most likely first.
 */
export async function explainResponse(
  question: ReportQuestion,
  theirs: Compared,
  explaining: Explaining,
): Promise<readonly Explanation[]> {
  const { askedAt, conventions, compute, find } = explaining;
  let chosen: Partial<Conventions> = {};
  let ours = await compute(question, askedAt, conventions);
  let left = find(theirs, ours);
  for (let round = 0; round < CONVENTIONS_MAX && left.length > 0; round++) {
    let fewest = find(theirs, ours).length;
    let best: { readonly values: Partial<Conventions>; readonly own: Compared }[] = [];
    for (const { name, candidates } of await suspectsOf(question, theirs, ours, explaining)) {
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
async function suspectsOf(
  question: ReportQuestion,
  theirs: Compared,
  ours: Compared,
  { askedAt, conventions, compute }: Explaining,
): Promise<Suspect[]> {
  if (theirs.status !== ours.status) return [];
  const points = calibrationPoints.filter(
    (point) => !isDeepStrictEqual(point.facts(theirs, question), point.facts(ours, question)),
  );
  const answer = { ...question, ...theirs, askedAt, isReport: true, isSettled: true, isFresh: true };
  const context = { answers: [answer], conventions, compute, labels: Object.keys(conventions.labels) };
  const suspects = [];
  for (const point of points) {
    const found = (await point.candidatesIn?.(context)) ?? [];
    suspects.push(...suspectsIn(point, [...point.candidates, ...found]));
  }
  return suspects;
}

function suspectsIn(point: CalibrationPoint, candidates: readonly unknown[]): Suspect[] {
  const { name, members } = point;
  if (members === undefined) return [{ name, candidates: distinct(candidates) }];
  const all = candidates as readonly Partial<Conventions>[];
  return [...membersOf(point).keys()].map((member) => ({
    name: member,
    candidates: distinct(all.map((candidate) => candidate[member])),
  }));
}

function textOf(values: Partial<Conventions>): string {
  const names = Object.keys(values) as (keyof Conventions)[];
  return names.map((name) => `${name}: ${describeConvention(name, values[name])}`).join('; ');
}
