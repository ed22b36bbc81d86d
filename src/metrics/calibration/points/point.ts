import { pointChoices } from '../choices.ts';
import type { Conventions } from '../conventions.ts';

/** A request for a computed report. Parameters have their declared names. */
export interface ReportQuestion {
  readonly resource: string;
  readonly brandId: string;
  readonly query: Readonly<Record<string, string>>;
}

/** A response, of upstream or computed from the stored data. */
export interface Compared {
  readonly status: number;
  readonly body: unknown;
}

/** Computes the response to a question from the stored data, with some conventions. */
export type Compute = (question: ReportQuestion, askedAt: number, conventions: Conventions) => Promise<Compared>;

/** A response of upstream that is kept as evidence, from `sync.answers`. */
export interface KnownAnswer extends ReportQuestion, Compared {
  /** Whether it is a report that a sync has read; otherwise calibration or a comparison has asked. */
  readonly isReport: boolean;
  /** Whether it is about complete days only, so that responses that came later cannot explain a difference. */
  readonly isSettled: boolean;
  /** When upstream sent it, epoch milliseconds. */
  readonly askedAt: number;
  /** Whether the stored data are still those that the response describes. The body of another response is null. */
  readonly isFresh: boolean;
}

/**
 * The part of a response that depends on a point. `values`: values by subject, such as titles by URL; only subjects of both
 * responses are compared. `set`: members that a response has or lacks. `order`: the order of the members that both have.
 */
export type Facts =
  | { readonly kind: 'values'; readonly values: ReadonlyMap<string, unknown> }
  | { readonly kind: 'set'; readonly members: ReadonlySet<string> }
  | { readonly kind: 'order'; readonly members: readonly string[] };

/** Data from which candidates are derived. */
export interface PointContext {
  /** Responses of upstream: to questions first, then reports, newest first. */
  readonly answers: readonly KnownAnswer[];
  /** The conventions found so far. */
  readonly conventions: Conventions;
  readonly compute: Compute;
  /** Sentiment labels of the stored responses, most frequent first. */
  readonly labels: readonly string[];
}

/**
 * A point that the specification leaves open and that whole responses decide. Each candidate is used to compute the
 * response from the stored data, and the facts are compared with those of upstream's response.
 */
export interface CalibrationPoint<Name extends keyof Conventions = keyof Conventions> {
  readonly name: Name;
  /** What the specification leaves open, as a phrase: `the title of a page that was cited under several`. */
  readonly about: string;
  /** Points that the same requests decide together, if there are several, with `about` of each; candidates are then their values by name. */
  readonly members?: Readonly<Partial<Record<keyof Conventions, string>>>;
  /** Resources whose responses are evidence. */
  readonly resources: readonly string[];
  /** The values to compare, the default first. */
  readonly candidates: readonly (Conventions[Name] | Partial<Conventions>)[];
  /** Returns more values to compare, those that the responses suggest. */
  candidatesIn?(context: PointContext): Promise<readonly unknown[]>;
  /**
   * The convention among those of the point that rounds its facts, which are numbers: they are computed once for all candidates that
   * differ in rounding only.
   */
  readonly rounds?: keyof Conventions;
  /** Whether there are more values than candidates, so that every fact is evidence. */
  readonly isOpen?: true;
  /** Fewest facts that decide it; default: 1. */
  readonly least?: number;
  /** The part of a value that must be unique among the best; default: the value. */
  settles?(candidate: Conventions[Name], conventions: Conventions): unknown;
  /** Whether the facts also depend on other points, so that facts on which all candidates agree are no evidence. */
  readonly isPartial?: boolean;
  /** Whether it is about the order of rows. */
  readonly isOrder?: true;
  /** Returns the facts of a response to a question. */
  facts(response: Compared, question: ReportQuestion): Facts;
}

/** Returns the conventions with a candidate of a point. */
export function withCandidate(
  { name, members }: CalibrationPoint,
  conventions: Conventions,
  candidate: unknown,
): Conventions {
  return members === undefined ? { ...conventions, [name]: candidate } : { ...conventions, ...(candidate as object) };
}

/** Returns the candidate of a point that is used. */
export function usedCandidate({ name, members }: CalibrationPoint, conventions: Conventions): unknown {
  if (members === undefined) return conventions[name];
  return Object.fromEntries(Object.keys(members).map((member) => [member, conventions[member as keyof Conventions]]));
}

/** Returns the value of a convention in a candidate, which is the value itself or has it by its name. */
export function valueIn(candidate: unknown, name: string): unknown {
  const isNamed = typeof candidate === 'object' && candidate !== null && Object.hasOwn(candidate, name);
  return isNamed ? (candidate as Record<string, unknown>)[name] : candidate;
}

/** The conventions that a point decides, with `about` of each. */
export function membersOf({
  name,
  about,
  members = { [name]: about },
}: CalibrationPoint): ReadonlyMap<keyof Conventions, string> {
  return new Map(Object.entries(members) as [keyof Conventions, string][]);
}

/** Returns every combination of the values of some points, the defaults first. */
export function combinationsOf(names: readonly (keyof typeof pointChoices)[]): Partial<Conventions>[] {
  return names.reduce<Partial<Conventions>[]>(
    (found, name) => pointChoices[name].flatMap((value) => found.map((one) => ({ ...one, [name]: value }))),
    [{}],
  );
}

/** Whether a response is evidence for a point. */
export function isAbout({ resources }: CalibrationPoint, { resource, status, isFresh }: KnownAnswer): boolean {
  return isFresh && resources.includes(resource) && status === 200;
}

/** Returns the facts of upstream's responses about a point. */
export function factsIn(point: CalibrationPoint, answers: readonly KnownAnswer[]): unknown[] {
  return answers.flatMap((answer) => {
    const facts = isAbout(point, answer) ? point.facts(answer, answer) : null;
    return facts?.kind === 'values' ? [...facts.values.values()] : [];
  });
}
