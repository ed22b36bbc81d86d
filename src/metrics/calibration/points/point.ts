import { candidatesOf, type Conventions } from '../conventions.ts';

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

/** Returns the facts of a response to a question. */
export type ReadFacts = (response: Compared, question: ReportQuestion) => Facts;

/** Values of the conventions of a point. */
export type Candidate = Partial<Conventions>;

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
 * What the specification leaves open and whole responses decide. Each candidate is used to compute the response from the stored data, and
 * the facts are compared with those of upstream's response.
 */
export interface CalibrationPoint {
  /** The conventions that the same facts decide together. */
  readonly names: readonly (keyof Conventions)[];
  /** Resources whose responses are evidence. */
  readonly resources: readonly string[];
  /** The candidates to compare, the default first. */
  readonly candidates: readonly Candidate[];
  /** Returns more candidates, those that the responses suggest. */
  candidatesIn?(context: PointContext): Promise<readonly Candidate[]>;
  /** Returns candidates that take more work, which are compared only if no other explains all facts. */
  inferIn?(context: PointContext): Promise<readonly Candidate[]>;
  /** Whether the response to a question is evidence; default: every one. */
  concerns?(question: ReportQuestion): boolean;
  /**
   * The convention among those of the point that rounds its facts, which are numbers: they are computed once for all candidates that
   * differ in rounding only.
   */
  readonly rounds?: keyof Conventions;
  /** Whether there are more values than candidates, so that every fact is evidence. */
  readonly isOpen?: true;
  /** Fewest facts that decide it; default: 1. */
  readonly least?: number;
  /** The part of a value that all of the best candidates must have alike to determine it; default: the value. */
  readonly settles?: { readonly [Name in keyof Conventions]?: (candidate: Conventions) => unknown };
  /** Whether the facts also depend on other points. A fact is then evidence only if the candidates differ in it. */
  readonly isPartial?: boolean;
  readonly facts: ReadFacts;
}

/** Returns a point with all combinations of the values of its conventions as candidates, the defaults first. */
export function pointOf(
  names: CalibrationPoint['names'],
  resources: readonly string[],
  facts: ReadFacts,
  more: Partial<CalibrationPoint> = {},
): CalibrationPoint {
  const candidates = names.reduce<Candidate[]>(
    (found, name) => candidatesOf(name).flatMap((value) => found.map((one) => ({ ...one, [name]: value }))),
    [{}],
  );
  return { names, resources, candidates, facts, ...more };
}

/** Returns the conventions with the values of a candidate. */
export function withCandidate(conventions: Conventions, candidate: Candidate): Conventions {
  return { ...conventions, ...candidate };
}

/** Returns the candidate of a point that is used. */
export function usedCandidate({ names }: Pick<CalibrationPoint, 'names'>, conventions: Conventions): Candidate {
  return Object.fromEntries(names.map((name) => [name, conventions[name]]));
}

/** Whether a response is evidence for a point. */
export function isAbout({ resources, concerns }: CalibrationPoint, answer: KnownAnswer): boolean {
  const { resource, status, isFresh } = answer;
  return isFresh && resources.includes(resource) && status === 200 && (concerns?.(answer) ?? true);
}

/** Returns the facts of upstream's responses about a point. */
export function factsIn(point: CalibrationPoint, answers: readonly KnownAnswer[]): unknown[] {
  return answers.flatMap((answer) => {
    const facts = isAbout(point, answer) ? point.facts(answer, answer) : null;
    return facts?.kind === 'values' ? [...facts.values.values()] : [];
  });
}
