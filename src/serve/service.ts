import type { Catalogue, Resource } from '../contract/catalogue.ts';
import type { ColumnKind } from '../contract/fields.ts';
import type { ServedNames } from '../contract/query.ts';
import type { Edition } from './edition.ts';

/**
 * The query layer: what REST and MCP ask, and the only thing they ask. Everything is answered from the newest
 * published copy of the warehouse.
 */
export interface Service {
  readonly catalogue: Catalogue;
  /**
   * Checks a request and resolves its defaults. Throws a SightlineError: `invalid_parameter`, `not_found` (a brand that
   * is not there), `no_data` (nothing was published yet).
   */
  ask(resource: Resource, path: Readonly<Record<string, string>>, given: URLSearchParams): Promise<Question>;
  /** Names of parameters that the specification leaves open, as they are served now. */
  namesOf(resource: Resource): ServedNames;
  /** Queries that run and that wait. */
  load(): { readonly running: number; readonly waiting: number };
  /** The newest copy itself, for what is told of it as a whole; throws `no_data` while there is none. */
  newest(): Promise<Edition>;
  /** How fresh the data are, for /readyz and for people. */
  freshness(): Promise<Freshness>;
  close(): Promise<void>;
}

/** A request that was found to be in order. */
export interface Question {
  readonly resource: Resource;
  /** Equal for questions that have equal answers, different when data or conventions differ; hex digits. */
  readonly version: string;
  /** When upstream last confirmed what the answer rests on, epoch milliseconds; null when it never did. */
  readonly asOf: number | null;
  /** Whether a part of the range, or of the list, was never read whole. */
  readonly partial: boolean;
  /**
   * Computes the answer; throws `not_found`, `overloaded`, `query_timeout`, or the signal's reason. `rowsMax`, at most the
   * limit that was asked for, makes a page end earlier: its cursor goes on after it, as part of the same walk.
   */
  answer(signal?: AbortSignal, rowsMax?: number): Promise<Answer>;
}

/** An answer, as JSON and as a flat table. */
export interface Answer {
  /** The body as upstream would send it. */
  readonly body: unknown;
  readonly nextCursor: string | null;
  /** The rows of `data`, flat; null for endpoints that have no `data`. */
  readonly rows: RowSet | null;
}

/** Rows with one value a column: nested values as JSON text, times and days as ISO 8601 text, all else as in JSON. */
export interface RowSet {
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[];
  /** Values in the columns' order, made when asked for. */
  rows(): readonly (readonly unknown[])[];
}

/** How fresh the data are. */
export interface Freshness {
  /** False until a first sync has published something. */
  readonly ready: boolean;
  /** When the newest sync run ended, epoch milliseconds, and how. */
  readonly syncedAt: number | null;
  readonly status: string | null;
  /** Version of the data: grows with every change. */
  readonly dataVersion: number | null;
  readonly resources: readonly {
    readonly name: string;
    readonly asOf: number | null;
    readonly partial: boolean;
  }[];
}
