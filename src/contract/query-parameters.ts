import type { ListField, Parameter, Parameters } from './parameters.ts';
import { addDays, dayOf, daysInRange, RANGE_DAYS_MAX, toDay } from './time.ts';

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

/** Treatment of requests that the specification does not define. */
export interface RequestRules {
  /** A limit above the maximum: rejected, lowered to the maximum, or applied. */
  readonly overLimit: 'rejected' | 'clamped' | 'honoured';
  /** A range that is too long: rejected, shortened to its last days or its first days, or answered completely. */
  readonly overRange: 'rejected' | 'last' | 'first' | 'honoured';
  /** A range whose `from` is after its `to`: rejected, empty, or swapped. */
  readonly reversedRange: 'rejected' | 'empty' | 'swapped';
  /** A `to` in the future: as given, or lowered to today. */
  readonly futureRange: 'given' | 'clamped';
  readonly unknownParameter: 'rejected' | 'ignored';
  /** A value that is not one of the allowed ones. */
  readonly invalidChoice: 'rejected' | 'ignored';
  /** The slug of an engine that does not exist. */
  readonly unknownEngine: 'rejected' | 'empty' | 'missing';
  /** The id of a prompt, topic, tag or competitor that does not exist: an empty response, 400 or 404. */
  readonly unknownId: 'empty' | 'rejected' | 'missing';
}

/** The rules of a server that rejects what the specification does not define. */
export const strictRules: RequestRules = {
  overLimit: 'rejected',
  overRange: 'rejected',
  reversedRange: 'rejected',
  futureRange: 'given',
  unknownParameter: 'rejected',
  invalidChoice: 'rejected',
  unknownEngine: 'rejected',
  unknownId: 'empty',
};

/** Greatest limit that is applied if upstream applies limits above the maximum. */
const LIMIT_MAX = 1_000;

/** A parameter that is unknown, malformed, given twice or out of bounds. */
export class ParameterError extends Error {
  override readonly name = 'ParameterError';
  /** Name of the parameter. */
  readonly parameter: string;
  readonly allowed: string;
  /** Whether the value is the name of a thing that does not exist, which upstream answers with 404. */
  readonly isMissing: boolean;

  /** `given` is the value; if the parameter is unknown, `unknownName` is its name. */
  constructor(parameter: string, given: string, allowed: string, unknownName?: string, isMissing = false) {
    super(`${parameter} must be ${allowed}; got ${JSON.stringify(shortened(given))}`);
    this.isMissing = isMissing;
    this.parameter = unknownName === undefined ? parameter : shortened(unknownName);
    this.allowed = allowed;
  }
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** Actual names of parameters whose name the specification does not define, by declared name. */
export type ServedNames = Readonly<Record<string, string>>;

/** Returns the name of a parameter in requests. */
export function servedName(name: string, parameter: Parameter, names: ServedNames): string {
  return parameter.nameUnknown === true ? (names[name] ?? name) : name;
}

/** Maps every declared parameter of undefined name to `name`; empty if `name` is undefined. */
export function nameOpenParameters(declared: Parameters, name: string | undefined): ServedNames {
  if (name === undefined) return {};
  const open = Object.entries(declared).filter(([, parameter]) => parameter.nameUnknown === true);
  return Object.fromEntries(open.map(([declaredName]) => [declaredName, name]));
}

/** True if the text is a hyphenated UUID, in upper or lower case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Options of `readQuery`. */
export interface ReadOptions {
  readonly names?: ServedNames;
  /** Default: `strictRules`. */
  readonly rules?: RequestRules;
}

/**
 * Validates a query string against the declared parameters. `nowMs` (epoch milliseconds) sets the default range.
 * @throws ParameterError for the first invalid parameter
 */
export function readQuery(
  declared: Parameters,
  given: URLSearchParams,
  nowMs: number,
  { names = {}, rules = strictRules }: ReadOptions = {},
): Query {
  const served = Object.entries(declared).map(([name, parameter]) => ({
    name,
    parameter,
    as: servedName(name, parameter, names),
  }));
  if (rules.unknownParameter === 'rejected') {
    refuseUnknown(
      served.map(({ as }) => as),
      given,
    );
  }
  const values: Record<string, string | number | boolean | undefined> = {};
  const found: string[] = [];
  for (const { name, parameter, as } of served) {
    const texts = given.getAll(as);
    if (texts.length > 1) throw new ParameterError(as, texts.join(' and '), 'given once');
    const text = isIgnored(parameter, texts[0], rules) ? undefined : texts[0];
    if (text !== undefined) found.push(name);
    values[name] = text === undefined ? parameter.default : readValue(as, parameter, text, rules);
  }
  return { values, given: found, ...readRange(values, dayOf(nowMs), rules) };
}

function isIgnored({ kind, values }: Parameter, text: string | undefined, { invalidChoice }: RequestRules): boolean {
  return invalidChoice === 'ignored' && kind === 'choice' && text !== undefined && values?.includes(text) === false;
}

/**
 * Checks values that must be in a list of upstream. `valuesOf` returns the values of a list; null if it is not known.
 * @throws ParameterError for the first unknown value that the rules do not allow
 */
export function checkKnown(
  declared: Parameters,
  { values }: Query,
  valuesOf: (list: ListField) => ReadonlySet<string> | null,
  { names = {}, rules = strictRules }: ReadOptions = {},
): void {
  for (const [name, parameter] of Object.entries(declared)) {
    const { oneOf, idOf } = parameter;
    const [list, rule] = oneOf === undefined ? [idOf, rules.unknownId] : [oneOf, rules.unknownEngine];
    const [value, known] = [values[name], list === undefined || rule === 'empty' ? null : valuesOf(list)];
    if (typeof value !== 'string' || known === null || known.has(value)) continue;
    const shown = oneOf === undefined ? 'an id of upstream' : `one of ${[...known].join(', ')}`;
    throw new ParameterError(servedName(name, parameter, names), value, shown, undefined, rule === 'missing');
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

function readValue(name: string, parameter: Parameter, text: string, rules: RequestRules): string | number | boolean {
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
      const isNumber = /^[1-9]\d{0,14}$/.test(text);
      check(isNumber && (Number(text) <= max || rules.overLimit !== 'rejected'), `a whole number from 1 to ${max}`);
      return Math.min(Number(text), rules.overLimit === 'honoured' ? Math.max(max, LIMIT_MAX) : max);
    }
    case 'cursor':
      check(text !== '', 'the nextCursor of the previous page');
      return text;
    case 'text':
      check(text !== '', 'a non-empty text');
      return text;
  }
}

function readRange(values: Query['values'], today: string, rules: RequestRules): { from: string; to: string } {
  const asked = typeof values['to'] === 'string' ? values['to'] : today;
  const to = rules.futureRange === 'clamped' && asked > today ? today : asked;
  const from = typeof values['from'] === 'string' ? values['from'] : addDays(to, 1 - DEFAULT_DAYS);
  if (from > to) {
    if (rules.reversedRange === 'rejected') throw new ParameterError('from', from, `on or before to (${to})`);
    return rules.reversedRange === 'swapped' ? { from: to, to: from } : { from, to };
  }
  if (daysInRange(from, to) <= RANGE_DAYS_MAX) return { from, to };
  switch (rules.overRange) {
    case 'last':
      return { from: addDays(to, 1 - RANGE_DAYS_MAX), to };
    case 'first':
      return { from, to: addDays(from, RANGE_DAYS_MAX - 1) };
    case 'honoured':
      return { from, to };
    default: {
      const allowed = `at most ${RANGE_DAYS_MAX - 1} days before to (${to}), because a range has at most ${RANGE_DAYS_MAX} days`;
      throw new ParameterError('from', from, allowed);
    }
  }
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && toDay(text) !== null;
}
