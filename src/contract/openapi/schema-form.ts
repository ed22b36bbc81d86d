import { isRecord } from '../../base/json.ts';
import { memberOf, resolveReference } from './references.ts';

/** Maximum depth of a schema, and maximum number of its parts. */
const DEPTH_MAX = 8;
const PARTS_MAX = 2_000;
const FIELDS_MAX = 500;
const VARIANTS_MAX = 20;
const VALUES_MAX = 100;
const ABOUT_CHARACTERS_MAX = 500;

/** Types of JSON values; numbers that are always integers are `integer`. */
export type JsonType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null';

const TYPES: readonly string[] = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'];

/** The part of a JSON Schema that declarations are inferred from. All variants of `oneOf` and `anyOf` are merged. */
export interface SchemaForm {
  /** Types of the values; empty if the schema allows all, or cannot be read. */
  readonly types: ReadonlySet<JsonType>;
  readonly format: string | null;
  readonly about: string | null;
  /** Members of objects, by name. */
  readonly fields: ReadonlyMap<string, SchemaForm>;
  /** Names of the members that every object has. */
  readonly required: ReadonlySet<string>;
  /** Elements of arrays; null if the schema does not describe them. */
  readonly items: SchemaForm | null;
  /** Allowed values of texts, numbers and booleans, as text; null if they are not listed. */
  readonly values: readonly string[] | null;
  readonly minimum: number | null;
  readonly maximum: number | null;
  /** The default as text; null if there is none. */
  readonly standard: string | null;
}

const unknownForm: SchemaForm = {
  types: new Set(),
  format: null,
  about: null,
  fields: new Map(),
  required: new Set(),
  items: null,
  values: null,
  minimum: null,
  maximum: null,
  standard: null,
};

/**
 * Reads a schema of OpenAPI 3.0 or 3.1. Parts that are too deep, too many, circular or malformed allow all values. Never throws.
 */
export function readSchema(document: unknown, schema: unknown): SchemaForm {
  const budget = { parts: PARTS_MAX };
  const read = (value: unknown, depth: number): SchemaForm => {
    budget.parts -= 1;
    if (depth > DEPTH_MAX || budget.parts < 0) return unknownForm;
    const node = resolveReference(document, value);
    if (!isRecord(node)) return unknownForm;
    const parts = ['allOf', 'oneOf', 'anyOf'].map((name) => listAt(node, name, VARIANTS_MAX));
    const [all = [], ...alternatives] = parts.map((list) => list.map((part) => read(part, depth + 1)));
    const own = readOwn(node, (inner) => read(inner, depth + 1));
    const variants = alternatives.flat();
    const chosen = variants.length === 0 ? [] : [variants.reduce(either)];
    return [...all, ...chosen].reduce(both, own);
  };
  return read(schema, 0);
}

function readOwn(node: Record<string, unknown>, read: (value: unknown) => SchemaForm): SchemaForm {
  const properties = memberOf(node, 'properties');
  const fields = isRecord(properties) ? Object.entries(properties).slice(0, FIELDS_MAX) : [];
  const required = listAt(node, 'required', FIELDS_MAX).filter((name) => typeof name === 'string');
  const items = memberOf(node, 'items');
  const fixed = memberOf(node, 'const');
  const values = fixed === null ? memberOf(node, 'enum') : [fixed];
  return {
    types: typesOf(node, fields.length > 0, items !== null),
    format: textAt(node, 'format'),
    about: aboutOf(node),
    fields: new Map(fields.map(([name, value]) => [name, read(value)])),
    required: new Set(required),
    items: items === null ? null : read(items),
    values: Array.isArray(values) ? valuesOf(values) : null,
    minimum: numberAt(node, 'minimum'),
    maximum: numberAt(node, 'maximum'),
    standard: scalarText(memberOf(node, 'default')),
  };
}

/** Returns the description of a part of the document, or its title, in one line; null if it has none. */
export function aboutOf(node: unknown): string | null {
  const text = textAt(node, 'description') ?? textAt(node, 'summary') ?? textAt(node, 'title');
  const line = (text ?? '')
    .slice(0, ABOUT_CHARACTERS_MAX)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return line === '' ? null : line;
}

function typesOf(node: Record<string, unknown>, hasFields: boolean, hasItems: boolean): ReadonlySet<JsonType> {
  const declared = memberOf(node, 'type');
  const names = (Array.isArray(declared) ? declared : [declared]).filter((name) => TYPES.includes(name));
  const found = new Set(names as JsonType[]);
  if (found.size === 0 && hasFields) found.add('object');
  if (found.size === 0 && hasItems) found.add('array');
  // OpenAPI 3.0 marks values that may be null beside their type.
  if (found.size > 0 && memberOf(node, 'nullable') === true) found.add('null');
  return found;
}

function valuesOf(values: readonly unknown[]): string[] | null {
  if (values.length > VALUES_MAX) return null;
  const texts = values.filter((value) => value !== null).map(scalarText);
  return texts.every((text) => text !== null) ? [...new Set(texts)] : null;
}

// The value has all properties of both schemas.
function both(a: SchemaForm, b: SchemaForm): SchemaForm {
  const common = [...a.types].filter((type) => b.types.size === 0 || b.types.has(type));
  return {
    types: a.types.size === 0 ? b.types : new Set(common),
    format: a.format ?? b.format,
    about: a.about ?? b.about,
    fields: mergeFields(a, b, both),
    required: new Set([...a.required, ...b.required]),
    items: a.items === null || b.items === null ? (a.items ?? b.items) : both(a.items, b.items),
    values: a.values ?? b.values,
    minimum: a.minimum ?? b.minimum,
    maximum: a.maximum ?? b.maximum,
    standard: a.standard ?? b.standard,
  };
}

// The value has the properties of one of the schemas. A variant without any type allows all values, except that null is a type.
function either(a: SchemaForm, b: SchemaForm): SchemaForm {
  const isOpen = a.types.size === 0 || b.types.size === 0;
  const only = (one: SchemaForm): boolean => one.types.size === 1 && one.types.has('null');
  const [first, second] = only(a) ? [b, a] : [a, b];
  return {
    types: isOpen ? new Set() : new Set([...first.types, ...second.types]),
    format: only(second) || first.format === second.format ? first.format : null,
    about: first.about ?? second.about,
    fields: mergeFields(first, second, either),
    required: only(second) ? first.required : new Set([...first.required].filter((name) => second.required.has(name))),
    items:
      first.items === null || second.items === null ? (first.items ?? second.items) : either(first.items, second.items),
    values: only(second)
      ? first.values
      : first.values === null || second.values === null
        ? null
        : [...new Set([...first.values, ...second.values])],
    minimum: null,
    maximum: only(second) ? first.maximum : null,
    standard: first.standard ?? second.standard,
  };
}

function mergeFields(
  a: SchemaForm,
  b: SchemaForm,
  merge: (a: SchemaForm, b: SchemaForm) => SchemaForm,
): ReadonlyMap<string, SchemaForm> {
  const merged = new Map(a.fields);
  for (const [name, field] of b.fields) {
    const known = merged.get(name);
    merged.set(name, known === undefined ? field : merge(known, field));
  }
  return merged;
}

function listAt(node: unknown, name: string, max: number): unknown[] {
  const list = memberOf(node, name);
  return Array.isArray(list) ? list.slice(0, max) : [];
}

function textAt(node: unknown, name: string): string | null {
  const value = memberOf(node, name);
  return typeof value === 'string' && value !== '' ? value : null;
}

function numberAt(node: unknown, name: string): number | null {
  const value = memberOf(node, name);
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function scalarText(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}
