import { quoted, suggestion } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { toDay } from '../time.ts';

/** First and last day of a range, so that the period before the longest range also has years of four digits. */
const DAY_LIMITS = { from: '1970-01-01', to: '2999-12-31' };
/** Characters of all values of a parameter, unless it declares another maximum: the work for a request grows with them. */
const PARAMETER_CHARACTERS_MAX = 4_000;

/** A member of an input as JSON Schema. */
export interface InputMember {
  readonly type: 'string' | 'integer' | 'boolean' | 'array';
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: { readonly enum?: readonly string[] };
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: string | number | boolean;
  readonly isRequired?: true;
  /** Whether it selects responses. The filters of MCP tools are members of one argument. */
  readonly isFilter?: true;
}

/** The members of an input by name. */
export type InputMembers = Readonly<Record<string, InputMember>>;

/** Returns an error about a parameter; an empty value counts as missing. `names` are searched for the nearest one. */
export function invalidParameter(
  parameter: string,
  given: string,
  allowed: string,
  names: readonly string[] = [],
): SightlineError {
  const problem = given === '' ? 'required' : quoted(given);
  const message = `${parameter} is ${problem}; allowed: ${allowed}${suggestion(given, names)}`;
  return new SightlineError('invalid_parameter', message, { parameter, allowed });
}

/** Throws `invalid_parameter` for a parameter with a name that is not in `known`, or with too many characters. */
export function checkNames(given: URLSearchParams, known: readonly string[], members: InputMembers = {}): void {
  for (const name of new Set(given.keys())) {
    if (!known.includes(name)) throw invalidParameter('parameter', name, known.join(', '), known);
    const text = given.getAll(name).join();
    const most = members[name]?.maxLength ?? PARAMETER_CHARACTERS_MAX;
    if (text.length > most) throw invalidParameter(name, text, `at most ${most} characters`);
  }
}

/** Reads the values of the members. Throws `invalid_parameter` like `readInput`, and for unknown names. */
export function checkInput(members: InputMembers, given: URLSearchParams): Readonly<Record<string, unknown>> {
  checkNames(given, Object.keys(members), members);
  return readInput(members, given);
}

/**
 * Reads the values of the members. Lists of choices may be repeated or separated by commas. Lists of names keep their commas, because a
 * name may contain one.
 *
 * @throws SightlineError `invalid_parameter`
 */
export function readInput(members: InputMembers, given: URLSearchParams): Readonly<Record<string, unknown>> {
  const values = Object.entries(members).map(([name, member]) => [name, readMember(name, member, given)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function readMember(name: string, member: InputMember, given: URLSearchParams): unknown {
  const value = member.type === 'array' ? readList(name, member, given) : readOne(name, member, onceOf(given, name));
  const isMissing = value === undefined || (Array.isArray(value) && value.length === 0);
  if (isMissing && member.isRequired === true) {
    throw invalidParameter(name, '', member.enum?.join(', ') ?? member.items?.enum?.join(', ') ?? 'a text');
  }
  return value;
}

function readOne(name: string, { type, format, enum: choices, ...member }: InputMember, text: string | null): unknown {
  if (text === null) return member.default;
  if (choices !== undefined) return chosen(name, text, choices);
  if (format === 'date') return calendarDay(name, text);
  if (type === 'string') return text;
  if (type === 'boolean') return chosen(name, text, ['true', 'false']) === 'true';
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = member;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : -1;
  if (value < minimum || value > maximum) throw invalidParameter(name, text, `${minimum} to ${maximum}`);
  return value;
}

function readList(name: string, { items }: InputMember, given: URLSearchParams): string[] {
  const choices = items?.enum;
  if (choices === undefined) return given.getAll(name).filter((text) => text.trim() !== '');
  return splitList(given.getAll(name)).map((text) => chosen(name, text, choices));
}

/** Returns the parts of texts that are separated by commas, each once. */
export function splitList(texts: readonly string[]): string[] {
  const parts = texts.flatMap((text) => text.split(',')).map((text) => text.trim());
  return [...new Set(parts.filter((text) => text !== ''))];
}

/** Returns the value of a parameter that may be given once; null if it is absent or empty. */
export function onceOf(given: URLSearchParams, name: string): string | null {
  const texts = given.getAll(name);
  if (texts.length > 1) throw invalidParameter(name, texts.join(' and '), 'one value');
  return texts[0] === undefined || texts[0] === '' ? null : texts[0];
}

function calendarDay(name: string, text: string): string {
  const { from, to } = DAY_LIMITS;
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && toDay(text) !== null && text >= from && text <= to) return text;
  throw invalidParameter(name, text, `a calendar day, YYYY-MM-DD, from ${from} to ${to}`);
}

function chosen(name: string, text: string, choices: readonly string[]): string {
  if (choices.includes(text)) return text;
  throw invalidParameter(name, text, choices.join(', '), choices);
}
