import { z } from 'zod';
import { suggestion } from '../choose-name.ts';

/** Metadata of a setting's schema. `sightline help --settings` prints them with the allowed values. */
interface SettingNote {
  /** Its meaning. Omitted if the allowed values state it. */
  readonly about?: string;
  /** Environment variable that overrides the file. */
  readonly variable?: string;
  /** Value of the setting if neither the variable nor the file sets it. */
  readonly preset?: unknown;
  /** Description of the default, for a setting that has no value if it is not set. */
  readonly whenUnset?: string;
}

/** Returns the metadata of a setting, including those of the schema in a wrapper and of the first option of a union. */
export function noteOf(schema: z.ZodType): SettingNote {
  const inner = schema instanceof z.ZodUnion ? schema.options[0] : isWrapper(schema) ? schema.unwrap() : null;
  return { ...(inner === null ? {} : noteOf(inner as z.ZodType)), ...(schema.meta() as SettingNote | undefined) };
}

/**
 * Returns the allowed values of a setting in words, for error messages: the description of its schema or, without one, a text
 * derived from the type of the schema.
 */
export function allowedOf(schema: z.ZodType): string {
  const { description } = schema;
  if (description !== undefined) return description;
  if (schema instanceof z.ZodNullable) return `${allowedOf(schema.unwrap() as z.ZodType)} or null`;
  if (isWrapper(schema)) return allowedOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodEnum) return listOf(schema.options.map(String), 'or');
  if (schema instanceof z.ZodLiteral) return listOf([...schema.values].map(String), 'or');
  if (schema instanceof z.ZodBoolean) return 'true or false';
  if (schema instanceof z.ZodNumber) return `a whole number${rangeOf(schema)}`;
  if (schema instanceof z.ZodArray) return `a list of ${elementsOf(schema.element as z.ZodType)}`;
  const members = membersOf(schema);
  if (schema instanceof z.ZodUnion && members.length === 0)
    return listOf([...new Set(schema.options.map((option) => allowedOf(option as z.ZodType)))], 'or');
  return members.length === 0
    ? 'a string'
    : `an object with the ${members.length === 1 ? 'member' : 'members'} ${listOf(members, 'and')}`;
}

/** Settings that messages name without their value, because it may be a URL or secret pasted instead of a variable name. */
const HIDDEN = [
  ...['notify', 'budget', 'runner', 'publish', 'destinations'],
  ...['urlVariable', 'secretVariable', 'apiKeyVariable', 'endpoint'],
  ...['tokenVariable', 'credentialVariable', 'url', 'tokenUrl'],
];
/** The beginning of a key or of a webhook's secret, or a URL, which may contain a password. */
const SECRET = /^(gsk|sk|whsec)[_-]|:\/\//;

/** Describes why a value does not match a schema: the setting, its value and the allowed values. `name` is the setting with the whole value. */
export function describeIssue(schema: z.ZodType, issue: z.core.$ZodIssue, given: unknown, name?: string): string {
  const setting = [...(name === undefined ? [] : [name]), ...issue.path].join('.');
  const value = issue.path.reduce<unknown>(
    (at, step) => (at as Record<PropertyKey, unknown> | undefined)?.[step],
    given,
  );
  const found = ofKind(schemaAt(schema, issue.path), value);
  const members = membersOf(found);
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys.map((key) => JSON.stringify(key)).join(', ');
    return `${setting === '' ? 'the file' : setting} has an unknown setting ${unknown}; allowed: ${members.join(', ')}${suggestion(
      issue.keys[0] ?? '',
      members.filter((member) => !issue.keys.includes(member)),
    )}`;
  }
  if (setting === '') return `the file is not a JSON object; allowed: ${members.join(', ')}`;
  const last = String(issue.path.findLast((step) => typeof step === 'string'));
  const isHidden = HIDDEN.includes(last) || SECRET.test(String(value));
  const shown = isHidden ? 'not valid (value not shown)' : JSON.stringify(value);
  return `${setting} ${value === undefined ? 'is not set' : `is ${shown}`}; allowed: ${allowedOf(found)}`;
}

// Returns the option of a union by kinds to which a value belongs.
function ofKind(schema: z.ZodType, value: unknown): z.ZodType {
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return schema;
  const kind = (value as Record<string, unknown> | null)?.[schema.def.discriminator];
  const options = schema.options as readonly z.ZodObject[];
  return options.find((option) => option.shape[schema.def.discriminator]?.safeParse(kind).success) ?? schema;
}

/** Returns the schema at a path. Elements of a list of plain values have the schema of the list; unknown steps end the path. */
export function schemaAt(schema: z.ZodType, [step, ...rest]: readonly PropertyKey[]): z.ZodType {
  if (step === undefined) return schema;
  if (isWrapper(schema)) return schemaAt(schema.unwrap() as z.ZodType, [step, ...rest]);
  if (schema instanceof z.ZodArray) {
    const element = schema.element as z.ZodType;
    return membersOf(element).length === 0 ? schema : schemaAt(element, rest);
  }
  if (schema instanceof z.ZodRecord) return schemaAt(schema.valueType as z.ZodType, rest);
  const all = shapesOf(schema).flatMap((shape) => (Object.hasOwn(shape, step) ? [shape[step] as z.ZodType] : []));
  const inner = [...new Set(all)];
  const [first] = inner;
  return first === undefined ? schema : schemaAt(inner.length === 1 ? first : z.union(inner), rest);
}

/** Returns the names of an object's members; for a union of objects, the members of each. */
export function membersOf(schema: z.ZodType): string[] {
  if (isWrapper(schema)) return membersOf(schema.unwrap() as z.ZodType);
  return [...new Set(shapesOf(schema).flatMap(Object.keys))];
}

type Shape = Readonly<Record<PropertyKey, z.ZodType>>;

function shapesOf(schema: z.ZodType): Shape[] {
  if (schema instanceof z.ZodObject) return [schema.shape as Shape];
  return schema instanceof z.ZodUnion ? schema.options.flatMap((option) => shapesOf(option as z.ZodType)) : [];
}

/** True for a schema that only says that a value may be absent, null or unchangeable. */
export function isWrapper(schema: z.ZodType): schema is z.ZodOptional | z.ZodNullable | z.ZodReadonly | z.ZodDefault {
  return [z.ZodOptional, z.ZodNullable, z.ZodReadonly, z.ZodDefault].some((kind) => schema instanceof kind);
}

function rangeOf({ minValue, maxValue }: z.ZodNumber): string {
  const least = minValue ?? 0;
  const isOpen = maxValue === null || maxValue >= Number.MAX_SAFE_INTEGER;
  return isOpen ? `, ${least} or more` : ` from ${least} to ${maxValue}`;
}

function elementsOf(element: z.ZodType): string {
  if (element instanceof z.ZodEnum) return element.options.join(', ');
  return allowedOf(element).replace(/^an object/, 'objects');
}

function listOf(words: readonly string[], last: string): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}
