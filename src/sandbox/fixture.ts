/** Values of an endpoint's query parameters, by declared name, after validation and defaults. */
export type Values = Readonly<Record<string, string | number | boolean | undefined>>;

/** One request as a fixture receives it: validated, with defaults applied. */
export interface Question<W> {
  readonly world: W;
  /** Parameters of the path, by name. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Values;
  /** First and last day of the range, inclusive; meaningful only if the endpoint has day parameters. */
  readonly from: string;
  readonly to: string;
  /** World time when the request arrived, in epoch milliseconds. */
  readonly nowMs: number;
}

/** A position in a list ordered from newest to oldest; ids break ties. */
export interface Place {
  readonly atMs: number;
  readonly id: string;
  /** Whether the item at this position belongs to the next page. */
  readonly inclusive?: boolean;
}

/** One item of a paged list. `item` is called only for items that are sent. */
export interface Row {
  readonly atMs: number;
  readonly id: string;
  readonly item: () => unknown;
}

/** The responses of one endpoint. */
export type Fixture<W> =
  /** An unpaged body. `today` returns the last day of the default range; default: today, UTC. */
  | {
      readonly answer: (question: Question<W>) => unknown;
      readonly today?: (asked: Pick<Question<W>, 'world' | 'path' | 'nowMs'>) => string;
    }
  /** A paged list, newest first, beginning after `after`; `insert` adds a new item at its head. */
  | {
      readonly rows: (question: Question<W>, after: Place | undefined) => Iterable<Row>;
      readonly insert?: (question: Question<W>) => void;
    };

/** Fixtures of a world, by name of the resource declaration. */
export type Fixtures<W> = Readonly<Record<string, Fixture<W>>>;

/** Interface of the world that a server serves. */
export interface World<C, D> {
  /** World time, in epoch milliseconds. */
  now(): number;
  /** Changes the world and returns the changes. */
  advance(change: C): readonly D[];
}

/** Error that rejects a request; sent as the documented error envelope. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** Returns a 400 `invalid_parameter` error with the parameter's name, the value given and the values allowed. */
export function invalidParameter(name: string, given: string, allowed: string): Refusal {
  const shown = given.length > 80 ? `${given.slice(0, 80)}…` : given;
  return new Refusal(400, 'invalid_parameter', `${name} must be ${allowed}; got ${JSON.stringify(shown)}`);
}

/** Returns a 404 `not_found` error for an unknown id or path. */
export function notFound(what: string): Refusal {
  return new Refusal(404, 'not_found', `${what} does not exist`);
}

/** Returns whether an item comes after a position in a list ordered from newest to oldest. */
export function comesAfter(item: { readonly atMs: number; readonly id: string }, place: Place): boolean {
  if (item.atMs !== place.atMs) return item.atMs < place.atMs;
  return item.id < place.id || (place.inclusive === true && item.id === place.id);
}

/** Sorts a short list like a paged list, and removes the items before `after`. */
export function pagedFrom(rows: readonly Row[], after: Place | undefined): Row[] {
  const sorted = rows.toSorted((a, b) => b.atMs - a.atMs || (a.id < b.id ? 1 : -1));
  return after === undefined ? sorted : sorted.filter((row) => comesAfter(row, after));
}
