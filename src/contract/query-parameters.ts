import type { ListField, Parameter, Parameters } from './parameters.ts';
import { addDays, daysInRange, RANGE_DAYS_MAX, toDay } from './time.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Length of a range in days if `from` is not given. */
const DEFAULT_DAYS = 30;

/** Validated parameters of a request. */
export interface Query {
  /** Values by declared name, with defaults; UUIDs in lower case. */
  readonly values: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Declared names of the parameters in the request. */
  readonly given: readonly string[];
  /** First and last day of the range, inclusive; meaningful only if the endpoint has day parameters. */
  readonly from: string;
  readonly to: string;
}

/** A parameter that is unknown, malformed, given twice or out of bounds. */
export class ParameterError extends Error {
  override readonly name = 'ParameterError';
  /** Name of the parameter. */
  readonly parameter: string;
  readonly allowed: string;

  /** `given` is the value; if the parameter is unknown, `unknownName` is its name. */
  constructor(parameter: string, given: string, allowed: string, unknownName?: string) {
    super(`${parameter} must be ${allowed}; got ${JSON.stringify(shortened(given))}`);
    this.parameter = unknownName === undefined ? parameter : shortened(unknownName);
    this.allowed = allowed;
  }
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** Actual names of parameters whose name the specification does not define, by declared name. */
export type ServedNames = Readonly<Record<string, string>>;

/** Returns the name of the parameter that takes a cursor; null if there is none. */
export function cursorParameterOf(declared: Parameters): string | null {
  return Object.entries(declared).find(([, { kind }]) => kind === 'cursor')?.[0] ?? null;
}

/** Returns the name of a parameter in requests. */
export function servedName(name: string, parameter: Parameter, names: ServedNames): string {
  return parameter.nameUnknown === true || parameter.kind === 'day' ? (names[name] ?? name) : name;
}

/** Maps every declared parameter of undefined name to `name`; empty if `name` is undefined. */
export function nameOpenParameters(declared: Parameters, name: string | undefined): ServedNames {
  if (name === undefined) return {};
  const open = Object.entries(declared).filter(([, parameter]) => parameter.nameUnknown === true);
  return Object.fromEntries(open.map(([declaredName]) => [declaredName, name]));
}

/**
 * Checks that a request has the required parameters.
 * @throws ParameterError for the first missing one
 */
export function checkRequired(declared: Parameters, { given }: Query): void {
  for (const [name, { required, values }] of Object.entries(declared)) {
    if (required !== true || given.includes(name)) continue;
    throw new ParameterError(name, '', values === undefined ? 'given' : `one of ${values.join(', ')}`);
  }
}

/** True if the text is a hyphenated UUID, in upper or lower case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Options of `readQuery`. */
export interface ReadOptions {
  readonly names?: ServedNames;
  /** Whether a range may be of any length; default: it has at most 366 days. */
  readonly isAnyLength?: boolean;
}

/**
 * Validates a query string against the declared parameters. `today` is the last day of the default range.
 * @throws ParameterError for the first invalid parameter
 */
export function readQuery(
  declared: Parameters,
  given: URLSearchParams,
  today: string,
  { names = {}, isAnyLength = false }: ReadOptions = {},
): Query {
  const served = Object.entries(declared).map(([name, parameter]) => ({
    name,
    parameter,
    as: servedName(name, parameter, names),
  }));
  refuseUnknown(
    served.map(({ as }) => as),
    given,
  );
  const values: Record<string, string | number | boolean | undefined> = {};
  const found: string[] = [];
  for (const { name, parameter, as } of served) {
    const texts = given.getAll(as);
    if (texts.length > 1) throw new ParameterError(as, texts.join(' and '), 'given once');
    const [text] = texts;
    if (text !== undefined) found.push(name);
    values[name] = text === undefined ? parameter.default : readValue(as, parameter, text);
  }
  return { values, given: found, ...readRange(values, today, isAnyLength) };
}

/** The values that parameters with `oneOf` may have, by list; null if the list is not synced. */
export type KnownValues = (list: ListField) => ReadonlySet<string> | null;

/**
 * Checks values that must be in a list of upstream, such as slugs of engines. A filter by an unknown id selects nothing.
 * @throws ParameterError for the first unknown value
 */
export function checkKnown(declared: Parameters, { values }: Query, lists: KnownValues, names: ServedNames = {}): void {
  for (const [name, parameter] of Object.entries(declared)) {
    const value = values[name];
    const known = parameter.oneOf === undefined ? null : lists(parameter.oneOf);
    if (typeof value !== 'string' || known === null || known.has(value)) continue;
    throw new ParameterError(servedName(name, parameter, names), value, `one of ${[...known].join(', ')}`);
  }
}

function refuseUnknown(known: readonly string[], given: URLSearchParams): void {
  for (const name of given.keys()) {
    if (known.includes(name)) continue;
    const allowed =
      known.length === 0 ? 'omitted, because this endpoint has no parameters' : `one of ${known.join(', ')}`;
    throw new ParameterError('parameter', name, allowed, name);
  }
}

function readValue(name: string, parameter: Parameter, text: string): string | number | boolean {
  const check = (fine: boolean, allowed: string): void => {
    if (!fine) throw new ParameterError(name, text, allowed);
  };
  switch (parameter.kind) {
    case 'day':
      check(isDay(text), 'a calendar day, YYYY-MM-DD');
      return text;
    case 'uuid':
      check(isUuid(text), 'a UUID');
      return text.toLowerCase();
    case 'choice':
      check(parameter.values?.includes(text) === true, `one of ${parameter.values?.join(', ')}`);
      return text;
    case 'flag':
      check(text === 'true' || text === 'false', 'true or false');
      return text === 'true';
    case 'limit': {
      const max = parameter.max ?? Number.MAX_SAFE_INTEGER;
      check(/^[1-9]\d{0,14}$/.test(text) && Number(text) <= max, `a whole number from 1 to ${max}`);
      return Number(text);
    }
    case 'cursor':
      check(text !== '', 'the nextCursor of the previous page');
      return text;
    case 'text':
      check(text !== '', 'a non-empty text');
      return text;
  }
}

function readRange(values: Query['values'], today: string, isAnyLength: boolean): { from: string; to: string } {
  const to = typeof values['to'] === 'string' ? values['to'] : today;
  const from = typeof values['from'] === 'string' ? values['from'] : addDays(to, 1 - DEFAULT_DAYS);
  if (from > to) throw new ParameterError('from', from, `on or before to (${to})`);
  if (!isAnyLength && daysInRange(from, to) > RANGE_DAYS_MAX) {
    const allowed = `at most ${RANGE_DAYS_MAX - 1} days before to (${to}), because a range has at most ${RANGE_DAYS_MAX} days`;
    throw new ParameterError('from', from, allowed);
  }
  return { from, to };
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && toDay(text) !== null;
}
