import { SightlineError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import type { JsonSchema } from '../../contract/json-schema.ts';
import type { InputMembers } from '../../contract/operation/read-input.ts';

/** Longest text of an argument. */
const CHARACTERS_MAX = 20_000;
/** Most values of a list. */
const ITEMS_MAX = 100;
/** The argument with the filters on responses. */
const FILTERS = 'where';

/** Most choices of a list that the schema has. Errors name those of longer lists. */
const CHOICES_MAX = 12;

/** Arguments of several tools, which the instructions of the server describe once. Errors state their bounds. */
const COMMON = ['skip', 'maxTokens', 'max_tokens', 'plain'];

/** Returns the JSON Schema of the arguments. */
export function argumentsSchema(declared: InputMembers): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  const filters: Record<string, JsonSchema> = {};
  for (const [name, { isFilter = false, isRequired = false, ...schema }] of Object.entries(declared)) {
    if (isRequired) required.push(name);
    if (isFilter) filters[name] = {};
    if (isFilter) {
      const description = 'Names or ids.';
      properties[FILTERS] = { type: 'object', properties: filters, additionalProperties: false, description };
    } else if (COMMON.includes(name)) properties[name] = { type: schema.type };
    else if ((schema.items?.enum?.length ?? 0) > CHOICES_MAX)
      properties[name] = { ...schema, items: { type: 'string' } };
    else properties[name] = schema;
  }
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required }), additionalProperties: false };
}

/**
 * Returns the texts of a call's arguments by name; filters are arguments of their own. Null counts as left out, because models send null for
 * arguments that they do not use.
 *
 * @throws SightlineError `invalid_parameter` for values that are not texts, and too many or too long ones
 */
export function toParameters(values: Readonly<Record<string, unknown>>): URLSearchParams {
  const { [FILTERS]: filters = {}, ...others } = values;
  if (filters !== null && !isRecord(filters)) throw refused(FILTERS, filters, 'an object with filters');
  const parameters = new URLSearchParams();
  for (const [name, value] of [...Object.entries(others), ...Object.entries(filters ?? {})]) {
    const texts = [value ?? []].flat();
    if (texts.length > ITEMS_MAX) throw tooLong(name, texts.length, 'values', ITEMS_MAX);
    for (const text of texts) parameters.append(name, toText(name, text));
  }
  return parameters;
}

function toText(name: string, value: unknown): string {
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  if (typeof text !== 'string') throw refused(name, value, 'a text');
  if (text.length > CHARACTERS_MAX) throw tooLong(name, text.length, 'characters', CHARACTERS_MAX);
  return text;
}

function refused(name: string, value: unknown, allowed: string): SightlineError {
  const shown = JSON.stringify(value).slice(0, 80);
  return new SightlineError('invalid_parameter', `${name} is ${shown}; allowed: ${allowed}`, { parameter: name });
}

function tooLong(name: string, length: number, noun: string, most: number): SightlineError {
  const message = `${name} has ${length} ${noun}; allowed: at most ${most}`;
  return new SightlineError('invalid_parameter', message, { parameter: name });
}
