import type { ResourceDeclaration } from '../contract/resource.ts';
import { answersOneObject, mapItems, withUnknownFields, withUnknownWords, withWrongType } from './body.ts';
import { readCursor, writeCursor } from './cursor.ts';
import type { Blow } from './faults.ts';
import { type Fixture, invalidParameter, notFound, type Question, type Row } from './fixture.ts';
import { type Query, readQuery } from './query.ts';
import type { Match } from './routes.ts';

/** How the endpoints answer where the specification leaves it open and no fixture decides it. */
export interface Shape {
  /** The name served for parameters whose name the specification does not give; default: the declared one. */
  readonly unknownParameterName?: string;
  /** Whether single objects stand under `data`; default false. */
  readonly wrapObjects?: boolean;
  /** Whether items have fields that no declaration knows; default false. */
  readonly extraFields?: boolean;
}

/** What answering needs besides the request. */
export interface Answering<W> {
  readonly world: W;
  readonly fixtures: Readonly<Record<string, Fixture<W>>>;
  readonly shape: Shape;
  readonly cursorLifetimeMs: number;
}

/** Computes the body of an answer; a blow bends it. Throws a Refusal. */
export function answer<W>(
  context: Answering<W>,
  match: Match,
  given: URLSearchParams,
  nowMs: number,
  blow: Blow | undefined,
): unknown {
  const { declaration, path } = match;
  const fixture = context.fixtures[declaration.name];
  if (fixture === undefined) throw notFound('the answer of this endpoint');
  const query = readQuery(declaration.query, given, nowMs, context.shape.unknownParameterName);
  const question = { world: context.world, path, query: query.values, from: query.from, to: query.to, nowMs };
  const plain =
    'rows' in fixture ? readPage(context, fixture, question, match, query, given, blow) : fixture.answer(question);
  return shapeBody(declaration, plain, context.shape, blow);
}

function readPage<W>(
  context: Answering<W>,
  fixture: Extract<Fixture<W>, { rows: unknown }>,
  question: Question<W>,
  match: Match,
  query: Query,
  given: URLSearchParams,
  blow: Blow | undefined,
): unknown {
  const cursor = query.values['cursor'];
  const limit = query.values['limit'];
  if (typeof limit !== 'number') throw new TypeError(`${match.declaration.name} has pages but no limit`);
  const binding = bindingOf(match, given);
  const read = typeof cursor === 'string' ? cursor : undefined;
  if (read !== undefined && blow?.fault.kind === 'expiredcursor') {
    throw invalidParameter('cursor', read, 'a cursor that has not expired');
  }
  const bookmark = read === undefined ? undefined : readCursor(read, binding, question.nowMs, context.cursorLifetimeMs);
  const asked = bookmark === undefined ? question : { ...question, from: bookmark.from, to: bookmark.to };
  const again = bookmark !== undefined && blow?.fault.kind === 'headinsert';
  if (again) fixture.insert?.(asked);
  const after = bookmark === undefined ? undefined : { ...bookmark.place, inclusive: again };
  const { rows, more } = take(fixture.rows(asked, after), limit);
  const last = rows.at(-1);
  const next = (row: Row): string =>
    writeCursor(
      { place: { atMs: row.atMs, id: row.id }, from: asked.from, to: asked.to, issuedAtMs: question.nowMs },
      binding,
    );
  const stuck = read !== undefined && blow?.fault.kind === 'stuckcursor' ? read : undefined;
  return {
    data: rows.map((row) => row.item()),
    nextCursor: stuck ?? (more && last !== undefined ? next(last) : null),
  };
}

function take(rows: Iterable<Row>, limit: number): { rows: Row[]; more: boolean } {
  const taken: Row[] = [];
  for (const row of rows) {
    if (taken.length === limit) return { rows: taken, more: true };
    taken.push(row);
  }
  return { rows: taken, more: false };
}

// Everything of the request that must stay as it is from page to page, in one order whichever way it was written.
function bindingOf(match: Match, given: URLSearchParams): string {
  const parameters = [...given].filter(([name]) => name !== 'cursor').sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([match.declaration.name, match.path, parameters]);
}

function shapeBody(declaration: ResourceDeclaration, plain: unknown, shape: Shape, blow: Blow | undefined): unknown {
  const kind = blow?.fault.kind;
  let body = plain;
  if (shape.extraFields === true || kind === 'unknownfields') body = mapItems(declaration, body, withUnknownFields);
  if (kind === 'unknownenums') body = mapItems(declaration, body, withUnknownWords);
  if (kind === 'wrongtypes') body = breakSome(declaration, body, blow?.variant ?? 0);
  return shape.wrapObjects === true && answersOneObject(declaration) ? { data: body } : body;
}

// Every third row, and at least the first: once without its key, once with a wrong type, in turns.
function breakSome(declaration: ResourceDeclaration, body: unknown, variant: number): unknown {
  let index = 0;
  return mapItems(declaration, body, (item, table) => {
    const at = index++;
    return at % 3 === 0 ? withWrongType(item, table, at % 2 === 0 ? Math.floor(variant * 10) : 0) : item;
  });
}
