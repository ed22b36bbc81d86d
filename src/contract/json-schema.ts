import { z } from 'zod';
import { type ColumnKind, type Fields, metaOf } from './fields.ts';
import type { Parameter } from './parameters.ts';
import type { ResourceDeclaration, TableDeclaration } from './resource.ts';

/** A JSON Schema, draft 2020-12, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Replaces a named schema, for example by a reference to it. `name` is in PascalCase. */
export type Refer = (name: string, schema: JsonSchema) => JsonSchema;

const inPlace: Refer = (_name, schema) => schema;

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
      return { type: 'integer', minimum: 1, maximum: parameter.max, ...standard };
    case 'text':
    case 'cursor':
      return { type: 'string', minLength: 1, ...standard };
  }
}

/** Schema of an object with these fields. Fields may be null or missing, and other fields are allowed. */
export function itemSchema(fields: Fields, refer: Refer = inPlace): JsonSchema {
  return { type: 'object', properties: properties(fields, refer) };
}

/**
 * Schema of the read server's response for a resource. `all` must contain the list of a detail. Lists, echoed parameters and
 * nextCursor are required. If the specification does not define the envelope of a list, the schema also allows a bare list.
 */
export function bodySchema(
  resource: ResourceDeclaration,
  all: readonly ResourceDeclaration[],
  refer: Refer = inPlace,
): JsonSchema {
  const [only] = resource.tables;
  if (only !== undefined && resource.tables.every(({ at }) => at === 'body')) return objectSchema(resource, all, refer);
  const beside: Record<string, unknown> = {};
  const lists: Record<string, JsonSchema> = {};
  for (const table of resource.tables) {
    if (table.at === 'body') Object.assign(beside, properties(table.fields, refer));
    else lists[table.at.list] = { type: 'array', description: table.about, items: rowSchema(table, refer) };
    Object.assign(beside, properties(table.beside ?? {}, refer));
  }
  const echoed = Object.fromEntries((resource.echoes ?? []).map((name) => [name, echoSchema(resource, name)]));
  const cursor = resource.paging === 'cursor' ? { nextCursor: cursorSchema } : {};
  const frame = {
    type: 'object',
    properties: { ...echoed, ...beside, ...lists, ...cursor },
    required: Object.keys({ ...echoed, ...lists, ...cursor }),
  };
  return resource.envelopeUnknown === true ? { anyOf: [frame, ...Object.values(lists)] } : frame;
}

/** Name of one row of a table, in PascalCase: `table_of_rows` gives `TableOfRow`. */
export function rowName(table: string): string {
  const words = table.split('_').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return words.join('').replace(/ies$/, 'y').replace(/s$/, '');
}

const cursorSchema: JsonSchema = {
  type: ['string', 'null'],
  description: 'Pass it as `cursor` to get the next page; null on the last page.',
};

function objectSchema(resource: ResourceDeclaration, all: readonly ResourceDeclaration[], refer: Refer): JsonSchema {
  const [table] = resource.tables as [TableDeclaration];
  const { change } = resource;
  if (change.kind !== 'detail') return rowSchema(table, refer);
  const list = all.find(({ name }) => name === change.of)?.tables.find(({ name }) => name === table.name);
  if (list === undefined) return rowSchema(table, refer);
  const own = Object.entries(table.fields).filter(([field]) => !(field in list.fields));
  const listed = rowSchema(list, refer);
  if (own.length === 0) return listed;
  const added = { description: table.about, ...itemSchema(Object.fromEntries(own), refer) };
  return refer(`${rowName(table.name)}Detail`, { allOf: [listed, added] });
}

function rowSchema(table: TableDeclaration, refer: Refer): JsonSchema {
  // An item of unknown form is served as upstream sent it, so its fields are not described.
  const whole = table.whole === undefined ? undefined : table.fields[table.whole];
  const schema = whole === undefined ? itemSchema(table.fields, refer) : { description: metaOf(whole).about };
  return refer(rowName(table.name), schema);
}

function echoSchema(resource: ResourceDeclaration, name: string): JsonSchema {
  const parameter = resource.query[name] as Parameter;
  const { default: _, ...schema } = parameterSchema(parameter);
  return { ...schema, description: `Value of the parameter ${name}, given or default.` };
}

function properties(fields: Fields, refer: Refer): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldSchema(field, refer)]));
}

function fieldSchema(field: z.ZodType, refer: Refer): JsonSchema {
  const meta = metaOf(field);
  const described = { description: meta.about };
  switch (meta.as) {
    case 'group':
      return { type: ['object', 'null'], ...described, properties: properties(meta.fields, refer) };
    case 'child': {
      const items = refer(rowName(meta.child.table), itemSchema(meta.child.fields, refer));
      return { type: ['array', 'null'], ...described, items };
    }
    case 'column':
      return meta.kind === 'json'
        ? { ...described, ...innerSchema(field) }
        : { ...columnTypes[meta.kind], ...described };
  }
}

const columnTypes: Readonly<Record<Exclude<ColumnKind, 'json'>, JsonSchema>> = {
  uuid: { type: ['string', 'null'], format: 'uuid' },
  text: { type: ['string', 'null'] },
  integer: { type: ['integer', 'null'] },
  number: { type: ['number', 'null'] },
  boolean: { type: ['boolean', 'null'] },
  timestamp: { type: ['string', 'null'], format: 'date-time' },
  day: { type: ['string', 'null'], format: 'date' },
};

// Zod writes nullable schemas as `anyOf` with null, and unknown values as {}.
function innerSchema(field: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(field) as Record<string, unknown>;
  const anyOf = schema['anyOf'];
  const takesAll = Array.isArray(anyOf) && anyOf.some((part) => Object.keys(part as JsonSchema).length === 0);
  return takesAll ? {} : schema;
}
