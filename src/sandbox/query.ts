import type { Parameter, Parameters } from '../contract/parameters.ts';
import { isDay, rangeDays, shiftDay, toDay } from './days.ts';
import { invalidParameter, type Values } from './fixture.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;

/** The checked parameters of a request. */
export interface Query {
  readonly values: Values;
  readonly from: string;
  readonly to: string;
}

/** The name under which a parameter is served; those whose name the specification leaves open may be renamed. */
export function servedName(name: string, parameter: Parameter, unknownName: string | undefined): string {
  return parameter.nameUnknown === true && unknownName !== undefined ? unknownName : name;
}

/** Checks the query string against the declaration; throws the refusal of the first parameter that is wrong. */
export function readQuery(
  declared: Parameters,
  given: URLSearchParams,
  nowMs: number,
  unknownName: string | undefined,
): Query {
  const served = Object.entries(declared).map(([name, parameter]) => ({
    name,
    parameter,
    as: servedName(name, parameter, unknownName),
  }));
  refuseUnknown(
    served.map(({ as }) => as),
    given,
  );
  const values: Record<string, string | number | boolean | undefined> = {};
  for (const { name, parameter, as } of served) {
    const texts = given.getAll(as);
    if (texts.length > 1) throw invalidParameter(as, texts.join(' and '), 'given once');
    const [text] = texts;
    values[name] = text === undefined ? parameter.default : readValue(as, parameter, text);
  }
  return { values, ...readRange(values, toDay(nowMs)) };
}

function refuseUnknown(known: readonly string[], given: URLSearchParams): void {
  for (const name of given.keys()) {
    if (known.includes(name)) continue;
    const allowed = known.length === 0 ? 'left out: this endpoint takes no parameters' : `one of ${known.join(', ')}`;
    throw invalidParameter('parameter', name, allowed);
  }
}

function readValue(name: string, parameter: Parameter, text: string): string | number | boolean {
  const check = (fine: boolean, allowed: string): void => {
    if (!fine) throw invalidParameter(name, text, allowed);
  };
  switch (parameter.kind) {
    case 'day':
      check(isDay(text), 'a day of the calendar, YYYY-MM-DD');
      return text;
    case 'uuid':
      check(UUID.test(text), 'a UUID');
      return text.toLowerCase();
    case 'choice':
      check(parameter.values?.includes(text) === true, `one of ${parameter.values?.join(', ')}`);
      return text;
    case 'flag':
      check(text === 'true' || text === 'false', 'true or false');
      return text === 'true';
    case 'limit': {
      const max = parameter.max ?? Number.MAX_SAFE_INTEGER;
      check(/^\d{1,15}$/.test(text) && Number(text) >= 1 && Number(text) <= max, `a whole number from 1 to ${max}`);
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

function readRange(values: Values, today: string): { from: string; to: string } {
  const to = typeof values['to'] === 'string' ? values['to'] : today;
  const from = typeof values['from'] === 'string' ? values['from'] : shiftDay(to, 1 - DEFAULT_DAYS);
  if (from > to) throw invalidParameter('from', from, `a day not after to (${to})`);
  if (rangeDays(from, to) > MAX_DAYS) {
    throw invalidParameter(
      'from',
      from,
      `at most ${MAX_DAYS - 1} days before to (${to}): ranges cover ${MAX_DAYS} days`,
    );
  }
  return { from, to };
}
