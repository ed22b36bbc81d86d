import type { Parameters } from '../contract/parameters.ts';
import { nameOpenParameters, ParameterError, type Query, readQuery } from '../contract/query-parameters.ts';
import type { ResourceDeclaration } from '../contract/resource.ts';
import { toDay } from './days.ts';
import type { Blow } from './faults.ts';
import { type Fixture, notFound, Refusal } from './fixture.ts';
import { type PageRequest, readPage } from './pages.ts';
import type { Match } from './routes.ts';
import { answersOneObject, mapItems, withUnknownFields, withUnknownWords, withWrongType } from './sandbox-body.ts';

/** How endpoints respond if the specification leaves it open and no fixture decides it. */
export interface Shape {
  /** Name of query parameters that the specification does not name; default: the declared name. */
  readonly unknownParameterName?: string;
  /** Whether single objects are wrapped in `data`; default false. */
  readonly wrapObjects?: boolean;
  /** Whether items have undeclared fields; default false. */
  readonly extraFields?: boolean;
  /** Writes the values of a body in the forms of the world; default: as the fixture does. */
  readonly write?: (body: unknown) => unknown;
}

/** Everything needed to compute a response, apart from the request. */
export interface Answering<W> {
  readonly world: W;
  readonly fixtures: Readonly<Record<string, Fixture<W>>>;
  readonly shape: Shape;
  readonly cursorLifetimeMs: number;
}

/**
 * Computes the body of a response. A blow, if given, distorts it.
 *
 * @throws Refusal for an unknown resource or an invalid parameter
 */
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
  const asked = { world: context.world, path, nowMs };
  const today = ('today' in fixture ? fixture.today?.(asked) : undefined) ?? toDay(nowMs);
  const query = checkQuery(declaration.query, given, today, context.shape.unknownParameterName);
  const question = { ...asked, query: query.values, from: query.from, to: query.to };
  const page = (): PageRequest => ({
    limit: Number(query.values['limit']),
    cursor: query.values['cursor']?.toString(),
    binding: bindingOf(match, given),
    cursorLifetimeMs: context.cursorLifetimeMs,
    fault: blow?.fault.kind,
  });
  const plain = 'rows' in fixture ? readPage(fixture, question, page()) : fixture.answer(question);
  return shapeBody(declaration, plain, context.shape, blow);
}

function checkQuery(declared: Parameters, given: URLSearchParams, today: string, unknownName?: string): Query {
  try {
    return readQuery(declared, given, today, { names: nameOpenParameters(declared, unknownName) });
  } catch (thrown) {
    if (thrown instanceof ParameterError) throw new Refusal(400, 'invalid_parameter', thrown.message);
    throw thrown;
  }
}

// Everything that must stay the same from page to page, in canonical order.
function bindingOf(match: Match, given: URLSearchParams): string {
  const parameters = [...given].filter(([name]) => name !== 'cursor').sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([match.declaration.name, match.path, parameters]);
}

function shapeBody(declaration: ResourceDeclaration, plain: unknown, shape: Shape, blow: Blow | undefined): unknown {
  const kind = blow?.fault.kind;
  let body = shape.write?.(plain) ?? plain;
  if (shape.extraFields === true || kind === 'unknownfields') body = mapItems(declaration, body, withUnknownFields);
  if (kind === 'unknownenums') body = mapItems(declaration, body, withUnknownWords);
  if (kind === 'wrongtypes') body = breakSome(declaration, body, blow?.variant ?? 0);
  return shape.wrapObjects === true && answersOneObject(declaration) ? { data: body } : body;
}

// Breaks every third row, starting with the first: alternately removes its key and gives a field a wrong type.
function breakSome(declaration: ResourceDeclaration, body: unknown, variant: number): unknown {
  let index = 0;
  return mapItems(declaration, body, (item, table) => {
    const at = index++;
    return at % 3 === 0 ? withWrongType(item, table, at % 2 === 0 ? Math.floor(variant * 10) : 0) : item;
  });
}
