import type { Catalogue, Resource } from '../contract/catalogue.ts';
import type { FieldWriters } from '../contract/field-forms.ts';
import type { ColumnKind } from '../contract/fields.ts';
import type { ServedNames } from '../contract/query-parameters.ts';
import type { Conventions } from '../metrics/calibration/conventions.ts';
import type { Doubts } from '../metrics/calibration/findings.ts';
import type { ServedReplica } from './open-replica.ts';

/** The query layer behind REST and MCP. Every response comes from the newest replica of the warehouse. */
export interface Service {
  readonly catalogue: Catalogue;
  /**
   * Validates a request and resolves its defaults.
   *
   * @throws SightlineError `invalid_parameter`, `not_found` (unknown brand) or `no_data` (no replica yet)
   * @example
   * const question = await service.ask(resource, { brandId }, new URLSearchParams('limit=10'));
   * const { body, nextCursor } = await question.answer();
   */
  ask(resource: Resource, path: Readonly<Record<string, string>>, given: URLSearchParams): Promise<Question>;
  /** Returns the served names of parameters whose name the specification leaves open. */
  namesOf(resource: Resource): ServedNames;
  /** Returns whether the body of a resource is served without the wrapper `data`, as upstream sends it. */
  isBare(resource: Resource): boolean;
  /** Returns whether this reader may read the resource: one for some brands may not, if its rows are about all of them or name none. */
  mayRead(resource: Resource): boolean;
  /** Returns the forms of a resource's values; null until a replica was opened. `text` differs if they differ. */
  formsOf(resource: Resource): { readonly writers: FieldWriters; readonly text: string } | null;
  /** Returns how the numbers of the responses are written; null until a replica was opened. */
  conventions(): Conventions | null;
  /** Returns the conventions that may differ from upstream's. */
  doubts(): Doubts;
  /** Returns the progress of the sync that is running; null if none is. */
  running(): Promise<Running | null>;
  /** Number of running and waiting queries. */
  load(): { readonly running: number; readonly waiting: number };
  /**
   * Returns the newest replica, for information about the replica itself.
   *
   * @throws SightlineError `no_data` if there is none yet
   */
  newest(): Promise<ServedReplica>;
  /** Returns the same data for a reader that may read only these brands, given by id or by exact name. Others do not exist for it. */
  limitedTo(brands: readonly string[]): Service;
  /** Returns the freshness of the data, for /readyz and status displays. */
  freshness(): Promise<Freshness>;
  close(): Promise<void>;
}

/** Requests done and expected by a running sync. */
export interface Running {
  readonly done: number;
  readonly expected: number;
}

/** A validated request. */
export interface Question {
  readonly resource: Resource;
  /** Hex digits: equal for requests with equal responses, different if data or calibration differ. */
  readonly version: string;
  /** When upstream last confirmed the data of the response, epoch milliseconds; null if never. */
  readonly asOf: number | null;
  /** Whether part of the range or list was never read completely. */
  readonly partial: boolean;
  /**
   * Computes the response. `rowsMax`, at most the requested limit, ends a page earlier; its cursor continues the same
   * paged scan.
   *
   * @throws SightlineError `not_found`, `overloaded` or `query_timeout`; or the signal's reason
   */
  answer(signal?: AbortSignal, rowsMax?: number): Promise<Answer>;
  /** Everything that the request selects, if it is for a paged list and has no limit; otherwise null. */
  readonly list: CompleteList | null;
}

/** All items of a paged list, from the request's cursor on if it has one. */
export interface CompleteList {
  /** As `Question.version`. */
  readonly version: string;
  /**
   * Reads the items page by page, at least one page. All pages have the same columns and come from one replica, which stays open
   * until the generator ends. A query runs only while the next page is awaited.
   */
  pages(signal: AbortSignal): AsyncGenerator<ListPage, void, undefined>;
}

/** Items of a list, and as a flat table. */
export interface ListPage {
  /** The items as JSON text. */
  readonly texts: readonly string[];
  readonly rows: RowSet;
}

/** A response, as JSON and as a flat table. */
export interface Answer {
  /** The body in upstream's format; parsed from `json` when it is used. */
  readonly body: unknown;
  /** The body as JSON text, if it has stored items. */
  readonly json?: string;
  readonly nextCursor: string | null;
  /** The items of `data`, converted when they are used; null if the endpoint has no `data`. */
  readonly list: ListPage | null;
}

/** Flat rows: nested values are JSON text, times and days are ISO 8601 text, other values are as in JSON. */
export interface RowSet {
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[];
  /** Values in column order, created on demand. */
  rows(): readonly (readonly unknown[])[];
}

/** Freshness of the data. */
export interface Freshness {
  /** False until the first sync has published a replica. */
  readonly ready: boolean;
  /** End of the newest sync run in epoch milliseconds, and its status. */
  readonly syncedAt: number | null;
  readonly status: string | null;
  /** Version of the data; increases with every change. */
  readonly dataVersion: number | null;
  readonly resources: readonly {
    readonly name: string;
    readonly asOf: number | null;
    readonly partial: boolean;
  }[];
}
