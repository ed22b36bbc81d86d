import type { Conventions } from '../conventions.ts';

/** A response of upstream that is kept as evidence, from `sync.answers`. */
export interface KnownAnswer {
  readonly resource: string;
  /** Null for a resource of the workspace. */
  readonly brandId: string | null;
  /** Query parameters by their declared names, as sent. */
  readonly query: Readonly<Record<string, string>>;
  readonly status: number;
  /** The parsed body, with numbers as doubles. */
  readonly body: unknown;
  /** When upstream sent it, epoch milliseconds. */
  readonly askedAt: number;
}

/** A response, of upstream or computed from the stored data. */
export interface Compared {
  readonly status: number;
  readonly body: unknown;
}

/** A question that separates the candidates of a point. */
export interface ProbeQuestion {
  readonly resource: string;
  readonly brandId: string | null;
  readonly query: Readonly<Record<string, string>>;
  /** What the response shows, in a few words, such as "groups under a filter by tag". */
  readonly reason: string;
}

/** Stored values from which questions are built. */
export interface ProbeVocabulary {
  /** The brands, those with most responses first. */
  readonly brands: readonly BrandVocabulary[];
  /** Upstream's current day, `YYYY-MM-DD`. */
  readonly today: string;
}

/** Ids of one brand, those with most responses first. */
export interface BrandVocabulary {
  readonly id: string;
  /** The first and the last day with responses; null without responses. */
  readonly days: { readonly first: string; readonly last: string } | null;
  readonly engines: readonly string[];
  readonly competitorIds: readonly string[];
  readonly promptIds: readonly string[];
  readonly pausedPromptIds: readonly string[];
  readonly topicIds: readonly string[];
  readonly tagIds: readonly string[];
  /** A tag that shares a prompt with another tag; null if there is none. */
  readonly overlappingTagId: string | null;
}

/**
 * A point that the specification leaves open and that whole responses decide: each candidate is used to compute the
 * response from the stored data, and the facts are compared with those of upstream's response.
 */
export interface CalibrationPoint<Name extends keyof Conventions = keyof Conventions> {
  readonly name: Name;
  /** One sentence: what the specification leaves open. */
  readonly about: string;
  /** Resources whose responses are evidence. */
  readonly resources: readonly string[];
  /** The values to compare, most likely first. */
  readonly candidates: readonly Conventions[Name][];
  /**
   * Returns the facts of a response that depend on this point, by subject: for the title of a cited URL, the title by URL.
   * Subjects that only one of two responses has are not compared, unless the point is about the subjects themselves.
   */
  facts(response: Compared, answer: KnownAnswer): ReadonlyMap<string, unknown>;
  /** Questions whose responses differ between candidates, best first; asked only if the synced reports do not decide. */
  probes(vocabulary: ProbeVocabulary): readonly ProbeQuestion[];
}
