import type { Parameter, Parameters } from './parameters.ts';
import { addDays, dayOf, daysInRange, RANGE_DAYS_MAX, toDay } from './time.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Days of a range for which only the end, or nothing, is given. */
const DEFAULT_DAYS = 30;

/** The checked parameters of a request. */
export interface Query {
  /** Values by declared name, defaults filled in; UUIDs in lower case. */
  readonly values: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Names of the parameters that were given. */
  readonly given: readonly string[];
  /** First and last day of the range, both included; of use only where the endpoint takes days. */
  readonly from: string;
  readonly to: string;
}

/** A parameter that is unknown, malformed, given twice or out of bounds. */
export class ParameterError extends Error {
  override readonly name = 'ParameterError';
  readonly parameter: string;
  readonly given: string;
  readonly allowed: string;

  constructor(parameter: string, given: string, allowed: string) {
    super(
      `${parameter} must be ${allowed}; got ${JSON.stringify(given.length > 80 ? `${given.slice(0, 80)}…` : given)}`,
    );
    this.parameter = parameter;
    this.given = given;
    this.allowed = allowed;
  }
}

/** Names under which parameters are served, by declared name, where the specification leaves the name open. */
export type ServedNames = Readonly<Record<string, string>>;

/** The name under which a parameter is served. */
export function servedName(name: string, parameter: Parameter, names: ServedNames): string {
  return parameter.nameUnknown === true ? (names[name] ?? name) : name;
}

/** The one name for every parameter whose name is left open; none where `name` is not known. */
export function nameOpenParameters(declared: Parameters, name: string | undefined): ServedNames {
  if (name === undefined) return {};
  const open = Object.entries(declared).filter(([, parameter]) => parameter.nameUnknown === true);
  return Object.fromEntries(open.map(([declaredName]) => [declaredName, name]));
}

/** Whether a text is a UUID in its hyphenated form, in either case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Checks a query string against the declared parameters; throws a ParameterError for the first that is wrong. */
export function readQuery(declared: Parameters, given: URLSearchParams, nowMs: number, names: ServedNames = {}): Query {
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
  return { values, given: found, ...readRange(values, dayOf(nowMs)) };
}

function refuseUnknown(known: readonly string[], given: URLSearchParams): void {
  for (const name of given.keys()) {
    if (known.includes(name)) continue;
    const allowed = known.length === 0 ? 'left out: this endpoint takes no parameters' : `one of ${known.join(', ')}`;
    throw new ParameterError('parameter', name, allowed);
  }
}

function readValue(name: string, parameter: Parameter, text: string): string | number | boolean {
  const check = (fine: boolean, allowed: string): void => {
    if (!fine) throw new ParameterError(name, text, allowed);
  };
  switch (parameter.kind) {
    case 'day':
      check(isDay(text), 'a day of the calendar, YYYY-MM-DD');
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
      check(text !== '', 'the nextCursor of the page before');
      return text;
    case 'text':
      check(text !== '', 'a text that is not empty');
      return text;
  }
}

function readRange(values: Query['values'], today: string): { from: string; to: string } {
  const to = typeof values['to'] === 'string' ? values['to'] : today;
  const from = typeof values['from'] === 'string' ? values['from'] : addDays(to, 1 - DEFAULT_DAYS);
  if (from > to) throw new ParameterError('from', from, `a day not after to (${to})`);
  if (daysInRange(from, to) > RANGE_DAYS_MAX) {
    const allowed = `at most ${RANGE_DAYS_MAX - 1} days before to (${to}): ranges cover ${RANGE_DAYS_MAX} days`;
    throw new ParameterError('from', from, allowed);
  }
  return { from, to };
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && toDay(text) !== null;
}
