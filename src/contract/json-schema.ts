import { z } from 'zod';
import type { FieldWriters } from './field-forms.ts';
import { type ColumnKind, type Fields, metaOf } from './fields.ts';
import { BODY_PLACE } from './observed-forms.ts';
import type { Parameter } from './parameters.ts';
import type { ResourceDeclaration, TableDeclaration } from './resource.ts';

/** A JSON Schema, draft 2020-12, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Replaces a named schema, for example by a reference to it. `name` is in PascalCase. */
export type Refer = (name: string, schema: JsonSchema) => JsonSchema;

/** Options of a schema. */
export interface SchemaOptions {
  /** Default: named schemas stay in place. */
  readonly refer?: Refer;
  /**
   * Set for the body that the read server sends; `isBare` if its list or object is not wrapped in `data`. Default: a body
   * of upstream, in which any field may be null or missing.
   */
  readonly served?: ServedForm;
}

/** The form of a body that the read server sends. */
export interface ServedForm {
  readonly isBare: boolean;
  /** The forms of upstream's values; default: the types of the declaration. */
  readonly writers?: FieldWriters;
}

/** The options of all parts of a schema. */
interface Form {
  readonly refer: Refer;
  readonly isServed: boolean;
  readonly writers: FieldWriters | null;
}

/** Schema of the values of a parameter. */
export function parameterSchema(parameter: Parameter): JsonSchema {
  const standard = parameter.default === undefined ? {} : { default: parameter.default };
  switch (parameter.kind) {
    case 'day':
      return { type: 'string', format: 'date', ...standard };
    case 'uuid':
      return { type: 'string', format: 'uuid', ...standard };
    case 'choice':
      return { type: 'string', enum: parameter.values, ...standard };
    case 'flag':
      return { type: 'boolean', ...standard };
    case 'limit':
      return {
        type: 'integer',
        minimum: 1,
        ...(parameter.max === undefined ? {} : { maximum: parameter.max }),
        ...standard,
      };
    case 'text':
    case 'cursor':
      return { type: 'string', minLength: 1, ...standard };
  }
}

/**
 * Schema of the body of a resource. `all` must contain the list of a detail. Lists, echoed parameters and nextCursor are
 * required.
 *
 * Of a served body, every declared field is required, except those that upstream leaves out of some items: the read server writes null for
 * other values that it does not have. Values have the types that upstream sends, such as text for numbers.
 * These are never null: keys (rows without a key are quarantined), the time of a window's items (pages are selected by it)
 * and fields declared with `neverNull`. Other fields may be added.
 *
 * Of upstream's body, no field of an item is required, and a list whose envelope the specification does not define may be bare.
 */
export function bodySchema(
  resource: ResourceDeclaration,
  all: readonly ResourceDeclaration[],
  { refer = inPlace, served }: SchemaOptions = {},
): JsonSchema {
  const form = { refer, isServed: served !== undefined, writers: served?.writers ?? null };
  const [only] = resource.tables;
  if (only !== undefined && resource.tables.every(({ at }) => at === 'body')) {
    const object = detailSchema(resource, only, all, form);
    if (served === undefined || served.isBare) return object;
    return refer(`${nameOfObject(resource, only, all)}Envelope`, objectSchema({ data: object }, form, []));
  }
  const { frame, lists } = frameSchema(resource, form);
  if (served === undefined) return resource.envelopeUnknown === true ? { anyOf: [frame, ...lists] } : frame;
  return served.isBare ? (lists[0] as JsonSchema) : refer(nameOfFrame(resource), frame);
}

/** Schema of upstream's object with these fields. */
export function itemSchema(fields: Fields): JsonSchema {
  const form = { refer: inPlace, isServed: false, writers: null };
  return fieldsSchema(fields, form, '');
}

/** Name of one row of a table, in PascalCase: `table_of_rows` gives `TableOfRow`. */
export function rowName(table: string): string {
  return pascalCase(table).replace(/ies$/, 'y').replace(/s$/, '');
}

const inPlace: Refer = (_name, schema) => schema;

const cursorSchema: JsonSchema = {
  type: ['string', 'null'],
  description: 'Pass it as `cursor` to get the next page; null on the last page.',
};

function frameSchema(resource: ResourceDeclaration, form: Form): { frame: JsonSchema; lists: JsonSchema[] } {
  const beside: Record<string, JsonSchema> = {};
  const lists: Record<string, JsonSchema> = {};
  for (const table of resource.tables) {
    if (table.at === 'body') Object.assign(beside, propertiesOf(table.fields, form, table.name));
    else lists[table.at.list] = { type: 'array', description: table.about, items: rowSchema(resource, table, form) };
    Object.assign(beside, propertiesOf(table.beside ?? {}, form, BODY_PLACE));
  }
  const echoed = Object.fromEntries((resource.echoes ?? []).map((name) => [name, echoSchema(resource, name, form)]));
  const cursor = resource.paging === 'cursor' ? { nextCursor: cursorSchema } : {};
  const next =
    form.isServed && resource.pages !== undefined ? { [resource.pages.next]: { type: ['string', 'null'] } } : {};
  const named = nestedSchemas({ ...lists, ...next }, form);
  const properties = { ...echoed, ...beside, ...named, ...cursor };
  const required = Object.keys({ ...echoed, ...named, ...cursor });
  const optional = [...Object.keys(echoed), ...Object.keys(beside)].filter((name) =>
    isLeftOut(form, `${BODY_PLACE}.${name}`),
  );
  const frame = form.isServed ? objectSchema(properties, form, optional) : { type: 'object', properties, required };
  return { frame, lists: Object.values(lists) };
}

// Expands names that are paths: `data.items` becomes the member `items` of the object `data`.
function nestedSchemas(schemas: Readonly<Record<string, JsonSchema>>, form: Form): Record<string, JsonSchema> {
  const groups = new Map<string, Record<string, JsonSchema>>();
  const nested: Record<string, JsonSchema> = {};
  for (const [path, schema] of Object.entries(schemas)) {
    const [first = '', ...rest] = path.split('.');
    if (rest.length === 0) nested[first] = schema;
    else groups.set(first, { ...groups.get(first), [rest.join('.')]: schema });
  }
  for (const [name, inner] of groups) nested[name] = objectSchema(nestedSchemas(inner, form), form, []);
  return nested;
}

function nameOfFrame({ name, paging, tables, computes }: ResourceDeclaration): string {
  const [table] = tables as readonly [TableDeclaration];
  if (computes !== undefined) return `${pascalCase(name)}Report`;
  if (paging === 'cursor') return `${rowName(table.name)}Page`;
  return tables.length === 1 ? `${rowName(table.name)}List` : pascalCase(name);
}

function detailSchema(
  resource: ResourceDeclaration,
  table: TableDeclaration,
  all: readonly ResourceDeclaration[],
  form: Form,
): JsonSchema {
  const list = listOf(resource, table, all);
  if (list === undefined) return rowSchema(resource, table, form);
  const fields = { ...list.fields, ...table.fields };
  return rowSchema(resource, { ...list, fields }, form, nameOfObject(resource, table, all));
}

// A detail with fields of its own is another object than the rows of its list.
function nameOfObject(
  resource: ResourceDeclaration,
  table: TableDeclaration,
  all: readonly ResourceDeclaration[],
): string {
  const list = listOf(resource, table, all);
  const isMore = list !== undefined && Object.keys(table.fields).some((field) => !(field in list.fields));
  return isMore ? `${rowName(table.name)}Detail` : rowName(table.name);
}

function listOf({ change }: ResourceDeclaration, table: TableDeclaration, all: readonly ResourceDeclaration[]) {
  if (change.kind !== 'detail') return undefined;
  return all.find(({ name }) => name === change.of)?.tables.find(({ name }) => name === table.name);
}

function rowSchema(
  resource: ResourceDeclaration,
  table: TableDeclaration,
  form: Form,
  name = rowName(table.name),
): JsonSchema {
  // An item of unknown form is served as upstream sent it, so its fields are not described.
  const whole = table.whole === undefined ? undefined : table.fields[table.whole];
  if (whole !== undefined) return form.refer(name, { description: metaOf(whole).about });
  return form.refer(name, fieldsSchema(table.fields, form, table.name, neverNull(resource, table)));
}

function neverNull({ change }: ResourceDeclaration, { key, nullableKey = [], extent }: TableDeclaration): string[] {
  const times = change.kind === 'window' && extent?.kind === 'time' ? [extent.field] : [];
  return [...key.filter((field) => !nullableKey.includes(field)), ...times];
}

function echoSchema(resource: ResourceDeclaration, name: string, form: Form): JsonSchema {
  const parameter = resource.query[name] as Parameter;
  const { default: _, ...declared } = parameterSchema(parameter);
  const schema = parameter.kind === 'day' ? valueSchema('day', form, `${BODY_PLACE}.${name}`) : declared;
  return { ...schema, description: `Value of the parameter ${name}, given or default.` };
}

/** Schema of an object with these properties. If it is served, all but the optional ones are present, and others may be added. */
function objectSchema(
  properties: Record<string, JsonSchema>,
  { isServed }: Form,
  optional: readonly string[],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, ...(isServed ? { required, additionalProperties: true } : {}) };
}

/** Schema of an object with these fields; those in `present` are always there and never null. */
function fieldsSchema(fields: Fields, form: Form, place: string, present: readonly string[] = []): JsonSchema {
  const optional = Object.keys(fields).filter((name) => !present.includes(name) && isLeftOut(form, `${place}.${name}`));
  return objectSchema(propertiesOf(fields, form, place, present), form, optional);
}

/** Whether upstream leaves a field out of some items. */
function isLeftOut({ writers }: Form, place: string): boolean {
  return writers !== null && (writers.empty(place) === 'absent' || writers.varies(place));
}

/** Schemas of fields; those in `present` and those declared with `neverNull` are never null if they are served. */
function propertiesOf(
  fields: Fields,
  form: Form,
  place: string,
  present: readonly string[] = [],
): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      fieldSchema(field, form, `${place}.${name}`, present.includes(name)),
    ]),
  );
}

function fieldSchema(field: z.ZodType, form: Form, place: string, isPresent: boolean): JsonSchema {
  const meta = metaOf(field);
  const description = meta.about;
  switch (meta.as) {
    case 'group':
      return nullable({ ...fieldsSchema(meta.fields, form, place), description });
    case 'child': {
      const { table, fields } = meta.child;
      return nullable({
        type: 'array',
        description,
        items: form.refer(rowName(table), fieldsSchema(fields, form, place)),
      });
    }
    case 'column': {
      const value = meta.kind === 'json' ? innerSchema(field, form, place) : valueSchema(meta.kind, form, place);
      const schema = { ...value, description };
      return form.isServed && (isPresent || meta.neverNull) ? schema : nullable(schema);
    }
  }
}

const columnTypes: Readonly<Record<Exclude<ColumnKind, 'json'>, JsonSchema>> = {
  uuid: { type: 'string', format: 'uuid' },
  text: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  timestamp: { type: 'string', format: 'date-time' },
  day: { type: 'string', format: 'date' },
};

/** A value of each kind as it is stored, to see the form in which it is written. */
const SAMPLES: Readonly<Partial<Record<ColumnKind, unknown>>> = {
  integer: 0,
  number: 0,
  timestamp: '2026-01-31 12:00:00',
  day: '2026-01-31',
};
/** Values of the formats `date-time` and `date`. */
const FORMATS: Readonly<Partial<Record<ColumnKind, RegExp>>> = {
  timestamp: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/,
  day: /^\d{4}-\d{2}-\d{2}$/,
};

// A value in the form in which upstream sends it. Values that vary have no type.
function valueSchema(kind: Exclude<ColumnKind, 'json'>, form: Form, place: string): JsonSchema {
  const declared = columnSchema(kind, form);
  if (form.writers === null) return declared;
  if (kind !== 'text' && form.writers.varies(place)) return {};
  const sample = SAMPLES[kind];
  if (sample === undefined) return declared;
  const written = form.writers.value(place, kind)(sample);
  if (typeof written === 'number') return declared;
  return FORMATS[kind]?.test(String(written)) === true ? declared : { type: 'string' };
}

// Without a format, some generators use 32-bit integers and floats.
function columnSchema(kind: Exclude<ColumnKind, 'json'>, { isServed }: Form): JsonSchema {
  if (isServed && kind === 'integer') return { type: 'integer', format: 'int64' };
  if (isServed && kind === 'number') return { type: 'number', format: 'double' };
  return columnTypes[kind];
}

function nullable(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  return typeof type === 'string' && type !== 'null' ? { ...schema, type: [type, 'null'] } : schema;
}

// Zod writes a nullable schema as `anyOf` with null, or with null among its types, and unknown values as {}.
function innerSchema(field: z.ZodType, form: Form, place: string): JsonSchema {
  const { $schema: _, anyOf, ...own } = z.toJSONSchema(field) as Inner;
  const [value = {}] = anyOf ?? [own];
  const { type } = value;
  const [first, ...others] = Array.isArray(type) ? type.filter((name) => name !== 'null') : [];
  return withinSchema(first === undefined || others.length > 0 ? value : { ...value, type: first }, form, place);
}

/** Applies the form to the objects inside a schema written by hand. */
function withinSchema(schema: Inner, form: Form, place: string): JsonSchema {
  const { items, properties } = schema;
  if (items !== undefined) return { ...schema, items: withinSchema(items, form, place) };
  if (properties === undefined) return schema;
  const within = Object.entries(properties).map(
    ([name, inner]) => [name, withinSchema(inner, form, `${place}.${name}`)] as const,
  );
  const optional = within.flatMap(([name]) => (isLeftOut(form, `${place}.${name}`) ? [name] : []));
  return { ...schema, ...objectSchema(Object.fromEntries(within), form, optional) };
}

interface Inner extends JsonSchema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Inner[];
  readonly items?: Inner;
  readonly properties?: Readonly<Record<string, Inner>>;
}

function pascalCase(name: string): string {
  return name
    .split('_')
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('');
}
