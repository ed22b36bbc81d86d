import { suggestion } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import type { JsonSchema } from '../../contract/json-schema.ts';

/** Longest text of an argument. */
const CHARACTERS_MAX = 20_000;
/** Most values of a list. */
const ITEMS_MAX = 100;

/** A declared argument of a data tool. */
export type Argument = { readonly about?: string; readonly isRequired?: boolean } & (
  | { readonly kind: 'text'; readonly choices?: readonly string[] }
  | { readonly kind: 'list'; readonly choices?: readonly string[] }
  | { readonly kind: 'count'; readonly least: number; readonly most: number; readonly standard: number }
  | { readonly kind: 'flag' }
  /** An object whose members are texts or lists of texts. */
  | { readonly kind: 'filters'; readonly names: readonly string[] }
);

/** Checked arguments. */
export interface Values {
  /** Null if the argument was left out or empty. */
  text(name: string): string | null;
  list(name: string): readonly string[];
  count(name: string): number;
  flag(name: string): boolean;
  /** Returns the texts of `names` as parameters of the metrics layer; the members of filters are parameters of their own. */
  parameters(names: readonly string[]): URLSearchParams;
}

/** Returns the JSON Schema of the arguments. */
export function argumentsSchema(declared: Readonly<Record<string, Argument>>): JsonSchema {
  const properties = Object.fromEntries(Object.entries(declared).map(([name, argument]) => [name, schemaOf(argument)]));
  const required = Object.keys(declared).filter((name) => declared[name]?.isRequired === true);
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

function schemaOf(argument: Argument): JsonSchema {
  const about = argument.about === undefined ? {} : { description: argument.about };
  switch (argument.kind) {
    case 'text':
      return { type: 'string', ...(argument.choices === undefined ? {} : { enum: argument.choices }), ...about };
    case 'list':
      return {
        type: 'array',
        items: { type: 'string', ...(argument.choices === undefined ? {} : { enum: argument.choices }) },
        ...about,
      };
    case 'count':
      return { type: 'integer', minimum: argument.least, maximum: argument.most, default: argument.standard, ...about };
    case 'flag':
      return { type: 'boolean', ...about };
    case 'filters':
      return {
        type: 'object',
        properties: Object.fromEntries(argument.names.map((name) => [name, {}])),
        additionalProperties: false,
        ...about,
      };
  }
}

/**
 * Checks the arguments of a call. Null counts as left out, because models send null for arguments that they do not use, and a text
 * is accepted as a list of one.
 *
 * @throws SightlineError `invalid_parameter` with the argument, its value and what is allowed
 */
export function checkArguments(
  declared: Readonly<Record<string, Argument>>,
  given: Readonly<Record<string, unknown>>,
): Values {
  const names = Object.keys(declared);
  const read = new Map<string, unknown>();
  for (const [name, value] of Object.entries(given)) {
    const argument = Object.hasOwn(declared, name) ? declared[name] : undefined;
    if (argument === undefined) {
      const message = `argument is ${JSON.stringify(name)}; allowed: ${names.join(', ')}${suggestion(name, names)}`;
      throw new SightlineError('invalid_parameter', message);
    }
    if (value !== null && value !== undefined) read.set(name, readValue(name, argument, value));
  }
  for (const name of names) {
    if (declared[name]?.isRequired === true && isEmpty(read.get(name))) {
      throw new SightlineError('invalid_parameter', `${name} is required`);
    }
  }
  return valuesOf(declared, read);
}

function valuesOf(declared: Readonly<Record<string, Argument>>, read: ReadonlyMap<string, unknown>): Values {
  const text = (name: string): string | null => {
    const value = read.get(name);
    return typeof value === 'string' && value !== '' ? value : null;
  };
  return {
    text,
    list: (name) => (read.get(name) as readonly string[] | undefined) ?? [],
    count: (name) => {
      const argument = declared[name];
      return (read.get(name) as number | undefined) ?? (argument?.kind === 'count' ? argument.standard : 0);
    },
    flag: (name) => read.get(name) === true,
    parameters: (names) => {
      const parameters = new URLSearchParams();
      for (const name of names) {
        const value = read.get(name);
        if (isRecord(value)) {
          for (const [filter, texts] of Object.entries(value as Record<string, string[]>))
            for (const one of texts) parameters.append(filter, one);
        } else if (Array.isArray(value)) for (const one of value) parameters.append(name, String(one));
        else if (value !== undefined && value !== '') parameters.append(name, String(value));
      }
      return parameters;
    },
  };
}

function readValue(name: string, argument: Argument, value: unknown): unknown {
  switch (argument.kind) {
    case 'text':
      return chosen(name, argument.choices, textOf(name, value));
    case 'list':
      return textsOf(name, value).map((text) => chosen(name, argument.choices, text));
    case 'count': {
      const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
      const { least, most } = argument;
      if (typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most) return number;
      throw refused(name, value, `a whole number from ${least} to ${most}`);
    }
    case 'flag':
      if (value === true || value === 'true') return true;
      if (value === false || value === 'false') return false;
      throw refused(name, value, 'true or false');
    case 'filters':
      return filtersOf(name, argument.names, value);
  }
}

function filtersOf(name: string, known: readonly string[], value: unknown): Record<string, string[]> {
  if (!isRecord(value)) throw refused(name, value, `an object with ${known.join(', ')}`);
  const filters: Record<string, string[]> = {};
  for (const [filter, texts] of Object.entries(value)) {
    if (!known.includes(filter)) {
      const message = `${name} has ${JSON.stringify(filter.slice(0, 80))}; allowed: ${known.join(', ')}${suggestion(filter, known)}`;
      throw new SightlineError('invalid_parameter', message);
    }
    if (texts !== null && texts !== undefined) filters[filter] = textsOf(filter, texts);
  }
  return filters;
}

function textsOf(name: string, value: unknown): string[] {
  if (!Array.isArray(value)) return [textOf(name, value)];
  if (value.length > ITEMS_MAX) throw tooLong(name, value.length, 'values', ITEMS_MAX);
  return value.map((item) => textOf(name, item));
}

function textOf(name: string, value: unknown): string {
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  if (typeof text !== 'string') throw refused(name, value, 'a text');
  if (text.length > CHARACTERS_MAX) throw tooLong(name, text.length, 'characters', CHARACTERS_MAX);
  return text;
}

function chosen(name: string, choices: readonly string[] | undefined, text: string): string {
  if (choices === undefined || text === '' || choices.includes(text)) return text;
  throw refused(name, text, `${choices.join(', ')}${suggestion(text, choices)}`);
}

function refused(name: string, value: unknown, allowed: string): SightlineError {
  const shown = JSON.stringify(value).slice(0, 80);
  return new SightlineError('invalid_parameter', `${name} is ${shown}; allowed: ${allowed}`, { parameter: name });
}

function tooLong(name: string, length: number, noun: string, most: number): SightlineError {
  const message = `${name} has ${length} ${noun}; allowed: at most ${most}`;
  return new SightlineError('invalid_parameter', message, { parameter: name });
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}
