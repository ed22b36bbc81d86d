import type { z } from 'zod';
import { ExactNumber, isRecord } from '../base/json.ts';
import { frameOf } from './body.ts';
import { type ShapeContext, typeName } from './drift-findings.ts';
import { createWords, type Words } from './drift-words.ts';
import { type ColumnKind, type Fields, metaOf } from './fields.ts';
import type { ResourceTable } from './tables.ts';

/** A declared object of a response, compiled for speed because a page has thousands of values. */
export interface Shape {
  readonly table: string | null;
  readonly path: string;
  readonly fields: readonly Field[];
  /** Names that are allowed in addition to the fields. */
  readonly known: ReadonlySet<string>;
  /** True if the specification does not define the form: field names are then learned like labels. */
  readonly isFree: boolean;
  readonly names: Words;
  readonly context: ShapeContext;
  /** Objects of the page that were checked so far. */
  objects: number;
}

interface Field {
  readonly name: string;
  readonly path: string;
  readonly json: 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'any';
  readonly kind: string;
  readonly schema: z.ZodType;
  /** Shape of the nested objects; null if none are declared. */
  readonly inner: Shape | null;
  readonly words: Words | null;
  /** Presence in earlier pages: never, in every object, or in some objects. */
  presence: 'unseen' | 'present' | 'optional';
  /** Objects of the page that have the field. */
  seen: number;
}

/** While learning, a field counts as vanished only if a page has at least this number of objects, all without it. */
const OBJECTS_MIN = 5;

const jsonTypes: Readonly<Record<ColumnKind, Field['json']>> = {
  uuid: 'string',
  text: 'string',
  timestamp: 'string',
  day: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  json: 'any',
};

/** Compiles the shape of a table's items. `listed` are names of the list's fields that a detail repeats. */
export function createItemShape(context: ShapeContext, table: ResourceTable, listed: readonly string[]): Shape {
  const { declaration } = table;
  const frame = declaration.at === 'body' ? frameOf(context.resource) : [];
  const isFree = declaration.normalize !== undefined;
  const known = new Set([...frame, ...listed]);
  return createShape(context, table.name, '', isFree ? {} : declaration.fields, known, isFree);
}

/** Compiles the shape of the envelope around the items. */
export function createEnvelope(context: ShapeContext): Shape {
  const { resource } = context;
  const beside: Fields = Object.assign({}, ...resource.derived.map(({ declaration }) => declaration.beside ?? {}));
  const inBody = resource.derived.flatMap(({ declaration: { at, fields } }) =>
    at === 'body' ? Object.keys(fields) : [],
  );
  return createShape(context, null, '', beside, new Set([...frameOf(resource), ...inBody, 'data']), false);
}

function createShape(
  context: ShapeContext,
  table: string | null,
  path: string,
  fields: Fields,
  known: ReadonlySet<string>,
  isFree: boolean,
): Shape {
  const compiled = Object.entries(fields).map(([name, schema]) => createField(context, table, path, name, schema));
  const names = createWords(context, table, joined(path, '*'), []);
  return { table, path, fields: compiled, known, isFree, names, context, objects: 0 };
}

function createField(context: ShapeContext, table: string | null, at: string, name: string, schema: z.ZodType): Field {
  const { resource, knowledge } = context;
  const meta = metaOf(schema);
  const path = joined(at, name);
  const known = knowledge.filter((item) => item.table === table && item.path === path).map(({ kind }) => kind);
  const presence = known.includes('optional') ? 'optional' : known.includes('present') ? 'present' : 'unseen';
  const common = { name, path, schema, presence, seen: 0 } as const;
  if (meta.as !== 'column') {
    const inside = meta.as === 'group' ? meta.fields : meta.child.fields;
    const inner = createShape(context, table, path, inside, new Set(), false);
    const json = meta.as === 'group' ? 'object' : 'array';
    return { ...common, json, kind: json, inner, words: null };
  }
  // The allowed values of a filter parameter are the values of the field with the same name.
  const declared = at === '' ? (resource.query[name]?.values ?? []) : [];
  const words = meta.isLabel ? createWords(context, table, path, declared) : null;
  return { ...common, json: jsonTypes[meta.kind], kind: meta.kind, inner: null, words };
}

/** Returns a shape and all shapes nested in it. */
export function shapesOf(shape: Shape): readonly Shape[] {
  return [shape, ...shape.fields.flatMap(({ inner }) => (inner === null ? [] : shapesOf(inner)))];
}

/** Compares one object of a page with its shape and records findings. */
export function walk(shape: Shape, object: Readonly<Record<string, unknown>>): void {
  shape.objects += 1;
  let present = 0;
  for (const field of shape.fields) {
    const value = object[field.name];
    if (value === undefined) continue;
    present += 1;
    field.seen += 1;
    if (value !== null) look(shape, field, value instanceof ExactNumber ? Number(value.text) : value);
  }
  const names = Object.keys(object);
  if (names.length > present) lookForUnknown(shape, object, names);
}

function look(shape: Shape, field: Field, value: unknown): void {
  switch (field.json) {
    case 'any':
      return;
    case 'string':
      if (typeof value !== 'string') break;
      field.words?.see(value);
      return;
    case 'object':
      if (!isRecord(value)) break;
      walk(field.inner as Shape, value);
      return;
    case 'array':
      if (!Array.isArray(value)) break;
      for (const entry of value as unknown[]) {
        if (isRecord(entry)) walk(field.inner as Shape, entry);
        else changed(shape, field, 'an array of objects', entry);
      }
      return;
    case 'integer':
      if (Number.isSafeInteger(value)) return;
      break;
    default:
      if (typeof value === field.json) return;
  }
  changed(shape, field, field.kind, value);
}

function changed({ table, context }: Shape, { path, json }: Field, expected: string, value: unknown): void {
  const type = typeName(value);
  // The JSON type can be correct and the value still wrong: a fraction for an integer, text for a time.
  const got = type === json || (json === 'integer' && type === 'number') ? `another ${type}` : type;
  context.findings.add(table, path, 'changed_type', `expected ${expected}, got ${got}`, value);
}

function lookForUnknown(shape: Shape, object: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const { table, path, context, fields, known } = shape;
  for (const name of names) {
    if (known.has(name) || fields.some((field) => field.name === name)) continue;
    if (shape.isFree) {
      if (shape.names.learn(name)) continue;
    }
    const value = object[name];
    context.findings.add(table, joined(path, name), 'unknown_field', typeName(value), value);
  }
}

/** Records why an item was rejected: text that is not an id or time, or a missing key. */
export function thoroughly(shape: Shape, item: unknown, reason: string): void {
  const { findings } = shape.context;
  if (shape.isFree || !isRecord(item)) {
    if (shape.isFree) findings.add(shape.table, shape.path, 'changed_type', reason, item);
    return;
  }
  let isExplained = false;
  for (const field of shape.fields) {
    const value = item[field.name] ?? null;
    if (value === null || field.schema.safeParse(value).success) continue;
    isExplained = true;
    const entries = field.json === 'array' && Array.isArray(value) ? value : [value];
    if (field.inner !== null) for (const entry of entries) thoroughly(field.inner, entry, reason);
    else if (hasType(field, value)) changed(shape, field, field.kind, value);
  }
  if (!isExplained && shape.path === '') findings.add(shape.table, '', 'changed_type', reason, item);
}

// `walk` already reported values with another JSON type.
function hasType({ json }: Field, value: unknown): boolean {
  if (json === 'integer') return Number.isSafeInteger(value);
  return json === 'any' || typeof value === json;
}

/** Evaluates a page: learns which fields are present or optional, and records vanished fields. */
export function finishShape(shape: Shape): void {
  const { objects, context, table } = shape;
  if (objects === 0) return;
  shape.objects = 0;
  for (const field of shape.fields) {
    const { seen, presence, path } = field;
    field.seen = 0;
    if (presence === 'optional') continue;
    if (seen === objects) {
      if (presence === 'unseen') remember(context, table, field, 'present');
    } else if (seen > 0) remember(context, table, field, 'optional');
    else if (presence === 'present') {
      // In a page of few objects the field may be absent by chance: while learning, treat it as optional.
      if (objects < OBJECTS_MIN && !isSettled(shape)) remember(context, table, field, 'optional');
      else context.findings.add(table, path, 'vanished_field', null, undefined, objects);
    }
  }
}

function remember({ learned }: ShapeContext, table: string | null, field: Field, kind: 'present' | 'optional'): void {
  field.presence = kind;
  learned.push({ table, path: field.path, kind, value: null });
}

// The names of a declared shape are not learned, so `names.isSettled` records whether its fields are settled.
function isSettled({ names }: Shape): boolean {
  return names.isSettled();
}

/** Ends learning of a shape if any of its fields or names was seen. */
export function settleShape(shape: Shape): void {
  for (const { words } of shape.fields) words?.settle();
  const hasShown = shape.isFree ? shape.names.size() > 0 : shape.fields.some(({ presence }) => presence !== 'unseen');
  if (hasShown) shape.names.settle(true);
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
