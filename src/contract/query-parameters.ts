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

/** Treatment of requests that the specification does not define. */
export interface RequestRules {
  /** A limit above the maximum: rejected, lowered to the maximum, or applied. */
  readonly overLimit: 'rejected' | 'clamped' | 'honoured';
  /** A limit that is not a whole number of at least 1: rejected, or replaced by the default or by 1. */
  readonly invalidLimit: 'rejected' | 'default' | 'least';
  /** A range that is too long: rejected, shortened to its last days or its first days, or answered completely. */
  readonly overRange: 'rejected' | 'last' | 'first' | 'honoured';
  /** A range whose `from` is after its `to`: rejected, empty, or swapped. */
  readonly reversedRange: 'rejected' | 'empty' | 'swapped';
  /** A `to` in the future: as given, lowered to today, or rejected. */
  readonly futureRange: 'given' | 'clamped' | 'rejected';
  /** A day that is not a calendar day: rejected, or treated as if it was not given. */
  readonly invalidDay: 'rejected' | 'ignored';
  readonly unknownParameter: 'rejected' | 'ignored';
  /** A value that is not one of the allowed ones. */
  readonly invalidChoice: 'rejected' | 'ignored';
  /** The slug of an engine that does not exist. */
  readonly unknownEngine: 'rejected' | 'empty' | 'missing';
  /** A slug of an engine in another case: another slug, or the same. */
  readonly engineCase: 'exact' | 'any';
  /** The id of a prompt, of a topic or tag, or of a competitor that does not exist: an empty response, 400 or 404. */
  readonly unknownPrompt: UnknownIdRule;
  readonly unknownGroup: UnknownIdRule;
  readonly unknownCompetitor: UnknownIdRule;
  /** The id of a deleted prompt or competitor: that of a row, or unknown. */
  readonly deletedIds: 'known' | 'unknown';
  /** A filter by a text that is not a UUID: rejected, or an unknown id. */
  readonly invalidId: 'rejected' | 'unknown';
  /** An id with upper-case letters: the same id, or an unknown one. */
  readonly idCase: 'any' | 'exact';
  /** A brand in the path that is not a UUID: 404 or 400. */
  readonly invalidBrandId: 'missing' | 'rejected';
}

type UnknownIdRule = 'empty' | 'rejected' | 'missing';

/** The rules of a server that rejects what the specification does not define. */
export const strictRules: RequestRules = {
  overLimit: 'rejected',
  invalidLimit: 'rejected',
  overRange: 'rejected',
  reversedRange: 'rejected',
  futureRange: 'given',
  invalidDay: 'rejected',
  unknownParameter: 'rejected',
  invalidChoice: 'rejected',
  unknownEngine: 'rejected',
  engineCase: 'exact',
  unknownPrompt: 'empty',
  unknownGroup: 'empty',
  unknownCompetitor: 'empty',
  deletedIds: 'known',
  invalidId: 'rejected',
  idCase: 'any',
  invalidBrandId: 'missing',
};

/** The value of a filter by an unknown id. No resource has this id. */
export const NO_ID = '00000000-0000-4000-8000-000000000000';

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
  /** Default: `strictRules`. */
  readonly rules?: RequestRules;
}

/**
 * Validates a query string against the declared parameters. `today` is the last day of the default range.
 * @throws ParameterError for the first invalid parameter
 */
export function readQuery(
  declared: Parameters,
  given: URLSearchParams,
  today: string,
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
  return { values, given: found, ...readRange(values, today, rules) };
}

// Whether an invalid value is treated as if the parameter was not given.
function isIgnored({ kind, values }: Parameter, text: string | undefined, rules: RequestRules): boolean {
  if (text === undefined) return false;
  switch (kind) {
    case 'choice':
      return rules.invalidChoice === 'ignored' && values?.includes(text) === false;
    case 'flag':
      return rules.invalidChoice === 'ignored' && text !== 'true' && text !== 'false';
    case 'day':
      return rules.invalidDay === 'ignored' && !isDay(text);
    case 'limit':
      return rules.invalidLimit === 'default' && !isPositive(text);
    default:
      return false;
  }
}

/** The values of upstream's lists. */
export interface KnownValues {
  /** Returns the values of a list; null if it is not synced. */
  of(list: ListField): ReadonlySet<string> | null;
  /** Whether a value is the id of a deleted row. */
  isDeleted(list: ListField, value: string): boolean;
}

/**
 * Checks values that must be in a list of upstream, and returns the request with slugs as in the list.
 * @throws ParameterError for the first unknown value that the rules do not allow
 */
export function checkKnown(
  declared: Parameters,
  asked: Query,
  lists: KnownValues,
  { names = {}, rules = strictRules }: ReadOptions = {},
): Query {
  const values = { ...asked.values };
  for (const [name, parameter] of Object.entries(declared)) {
    const { oneOf, idOf } = parameter;
    const value = values[name];
    const list = oneOf ?? idOf;
    if (typeof value !== 'string' || list === undefined) continue;
    const rule = oneOf === undefined ? rules[idOf?.rule ?? 'unknownGroup'] : rules.unknownEngine;
    const isAnyCase = oneOf !== undefined && rules.engineCase === 'any';
    if (rule === 'empty' && !isAnyCase) continue;
    const known = lists.of(list);
    if (known === null || known.has(value)) continue;
    if (oneOf === undefined && rules.deletedIds === 'known' && lists.isDeleted(list, value)) continue;
    const same = isAnyCase ? [...known].find((one) => one.toLowerCase() === value.toLowerCase()) : undefined;
    if (same !== undefined) {
      values[name] = same;
      continue;
    }
    if (rule === 'empty') continue;
    const shown = oneOf === undefined ? 'an id of upstream' : `one of ${[...known].join(', ')}`;
    throw new ParameterError(servedName(name, parameter, names), value, shown, undefined, rule === 'missing');
  }
  return { ...asked, values };
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
    case 'uuid': {
      check(isUuid(text) || rules.invalidId === 'unknown', 'a UUID');
      const id = text.toLowerCase();
      return isUuid(text) && (rules.idCase === 'any' || text === id) ? id : NO_ID;
    }
    case 'choice':
      check(parameter.values?.includes(text) === true, `one of ${parameter.values?.join(', ')}`);
      return text;
    case 'flag':
      check(text === 'true' || text === 'false', 'true or false');
      return text === 'true';
    case 'limit': {
      const max = parameter.max ?? Number.MAX_SAFE_INTEGER;
      if (!isPositive(text) && rules.invalidLimit === 'least') return 1;
      const isFine = isPositive(text) && (Number(text) <= max || rules.overLimit !== 'rejected');
      check(isFine, `a whole number from 1 to ${max}`);
      return Math.min(Number(text), rules.overLimit === 'honoured' ? Math.max(max, LIMIT_MAX) : max);
    }
    case 'number': {
      const { min = 0 } = parameter;
      check(/^\d{1,15}$/.test(text) && Number(text) >= min, `a whole number from ${min}`);
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

function readRange(values: Query['values'], today: string, rules: RequestRules): { from: string; to: string } {
  const asked = typeof values['to'] === 'string' ? values['to'] : today;
  if (rules.futureRange === 'rejected' && asked > today)
    throw new ParameterError('to', asked, `on or before the current day (${today})`);
  const last = rules.futureRange === 'clamped' && asked > today ? today : asked;
  const first = typeof values['from'] === 'string' ? values['from'] : addDays(last, 1 - DEFAULT_DAYS);
  const isReversed = first > last;
  if (isReversed && rules.reversedRange === 'rejected')
    throw new ParameterError('from', first, `on or before to (${last})`);
  if (isReversed && rules.reversedRange === 'empty') return { from: first, to: last };
  const [from, to] = isReversed ? [last, first] : [first, last];
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

function isPositive(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && toDay(text) !== null;
}
