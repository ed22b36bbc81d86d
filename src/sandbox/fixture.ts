/** Values of an endpoint's query parameters, by declared name, after validation and defaults. */
export type Values = Readonly<Record<string, string | number | boolean | undefined>>;

/** One request, checked and resolved, as a fixture sees it. */
export interface Question<W> {
  readonly world: W;
  /** Parameters of the path, by name. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Values;
  /** First and last day of the range, both included; of use only where the endpoint has day parameters. */
  readonly from: string;
  readonly to: string;
  /** The world's time at arrival, in epoch milliseconds. */
  readonly nowMs: number;
}

/** A place in a list that runs from the newest item to the oldest; ids decide among items of the same moment. */
export interface Place {
  readonly atMs: number;
  readonly id: string;
  /** Whether the item at the place belongs to what follows. */
  readonly inclusive?: boolean;
}

/** One item of a paged list; `item` is called only for items that are sent. */
export interface Row {
  readonly atMs: number;
  readonly id: string;
  readonly item: () => unknown;
}

/** What one endpoint answers. */
export type Fixture<W> =
  /** The whole body at once. */
  | { readonly answer: (question: Question<W>) => unknown }
  /** A paged list, newest first, beginning after `after`; `insert` makes a new item at its head. */
  | {
      readonly rows: (question: Question<W>, after: Place | undefined) => Iterable<Row>;
      readonly insert?: (question: Question<W>) => void;
    };

/** The fixtures of a world, by the name of the declaration. */
export type Fixtures<W> = Readonly<Record<string, Fixture<W>>>;

/** What the server needs of the world it serves. */
export interface World<C, D> {
  /** The world's time, in epoch milliseconds. */
  now(): number;
  /** Changes the world and tells what was changed. */
  advance(change: C): readonly D[];
}

/** Thrown where a request is refused; becomes the documented error envelope. */
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

/** The refusal of a parameter: says which, what was given and what is allowed. */
export function invalidParameter(name: string, given: string, allowed: string): Refusal {
  const shown = given.length > 80 ? `${given.slice(0, 80)}…` : given;
  return new Refusal(400, 'invalid_parameter', `${name} must be ${allowed}; got ${JSON.stringify(shown)}`);
}

/** The refusal of an id or path that names nothing. */
export function notFound(what: string): Refusal {
  return new Refusal(404, 'not_found', `${what} does not exist`);
}

/** Whether an item comes after a place in a list that runs from the newest to the oldest. */
export function comesAfter(item: { readonly atMs: number; readonly id: string }, place: Place): boolean {
  if (item.atMs !== place.atMs) return item.atMs < place.atMs;
  return item.id < place.id || (place.inclusive === true && item.id === place.id);
}

/** Puts a short list in the order of paged lists and leaves out what lies before `after`. */
export function pagedFrom(rows: readonly Row[], after: Place | undefined): Row[] {
  const sorted = rows.toSorted((a, b) => b.atMs - a.atMs || (a.id < b.id ? 1 : -1));
  return after === undefined ? sorted : sorted.filter((row) => comesAfter(row, after));
}
