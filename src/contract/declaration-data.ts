import { z } from 'zod';
import {
  boolean,
  type ColumnKind,
  children,
  day,
  type Fields,
  group,
  integer,
  json,
  label,
  number,
  text,
  timestamp,
  uuid,
} from './fields.ts';
import { defineResource, type ResourceDeclaration } from './resource.ts';

/** Field kinds without parameters, as they are written in data. */
const scalars = { uuid, text, label, integer, number, boolean, timestamp, day, json } as const;
type ScalarKind = ColumnKind | 'label';
const scalarKinds = Object.keys(scalars) as [ScalarKind, ...ScalarKind[]];

/** A field as data: the kind alone, a scalar with options, an object with fields, or a nested array with its own table. */
export type FieldData =
  | ScalarKind
  | { readonly kind: ScalarKind; readonly about?: string | undefined; readonly column?: string | undefined }
  | { readonly kind: 'group'; readonly about?: string | undefined; readonly fields: FieldsData }
  | {
      readonly kind: 'children';
      readonly about?: string | undefined;
      readonly table: string;
      readonly fields: FieldsData;
      readonly repeat?: readonly string[] | undefined;
    };

/** Fields as data, by the API's names. */
export type FieldsData = Readonly<Record<string, FieldData>>;

const name = z.string().regex(/^[a-z][a-z0-9_]*$/, 'must be snake_case');
const fieldName = z.string().refine((value) => value !== '' && value !== '__proto__', 'must be the name of a field');
const about = z.string().optional();
const fieldData: z.ZodType<FieldData> = z.lazy(() =>
  z.union([
    z.enum(scalarKinds),
    z.strictObject({ kind: z.enum(scalarKinds), about, column: name.optional() }),
    z.strictObject({ kind: z.literal('group'), about, fields: fieldsData }),
    z.strictObject({
      kind: z.literal('children'),
      about,
      table: name,
      fields: fieldsData,
      repeat: z.array(z.string()).optional(),
    }),
  ]),
);
const fieldsData: z.ZodType<FieldsData> = z.record(fieldName, fieldData);

const parameterData = z.strictObject({
  kind: z.enum(['day', 'uuid', 'text', 'choice', 'flag', 'limit', 'cursor', 'number']),
  about: z.string(),
  values: z.array(z.string()).min(1).optional(),
  default: z.union([z.string(), z.number(), z.boolean()]).optional(),
  max: z.int().min(1).optional(),
  min: z.int().min(0).optional(),
  required: z.literal(true).optional(),
  example: z.string().optional(),
});

const tableData = z.strictObject({
  name,
  about: z.string(),
  at: z.union([z.literal('body'), z.strictObject({ list: z.string().min(1) })]),
  key: z.array(z.string()),
  nullableKey: z.array(z.string()).optional(),
  extent: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('scope') }),
      z.strictObject({ kind: z.literal('range') }),
      z.strictObject({ kind: z.literal('time'), field: z.string() }),
    ])
    .optional(),
  beside: fieldsData.optional(),
  incidental: z.array(z.string()).optional(),
  fields: fieldsData,
});

const changeData = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('set') }),
  z.strictObject({ kind: z.literal('walk'), settled: z.literal(true).optional() }),
  z.strictObject({ kind: z.literal('window') }),
  z.strictObject({ kind: z.literal('value') }),
  z.strictObject({ kind: z.literal('detail'), of: name, parameter: z.string() }),
  z.strictObject({ kind: z.literal('report'), span: z.enum(['recent', 'history']) }),
]);

const sizeData = z.strictObject({ parameter: z.string(), max: z.int().min(1) });
const numberedPages = {
  parameter: z.string(),
  size: sizeData.optional(),
  more: z.string().optional(),
  pages: z.string().optional(),
  total: z.string().optional(),
  position: z.string().optional(),
  length: z.string().optional(),
};
const pagesData = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('cursor'), parameter: z.string(), next: z.string(), size: sizeData.optional() }),
  z.strictObject({ kind: z.literal('page'), first: z.int().min(0), ...numberedPages }),
  z.strictObject({ kind: z.literal('offset'), ...numberedPages }),
  z.strictObject({ kind: z.literal('link'), next: z.string(), size: sizeData.optional() }),
]);

const declarationData = z.strictObject({
  name,
  position: z.number().optional(),
  about: z.string(),
  scope: z.enum(['workspace', 'brand']),
  path: z.string().regex(/^\/[^?#\s]*$/, 'must be a path that begins with /, without a query'),
  paging: z.enum(['single', 'cursor']),
  pages: pagesData.optional(),
  parent: z.strictObject({ resource: name, parameters: z.record(z.string(), z.string()) }).optional(),
  mayBeMissing: z.literal(true).optional(),
  change: changeData,
  query: z.record(z.string(), parameterData).optional(),
  ask: z.record(z.string(), z.string()).optional(),
  each: z.strictObject({ parameter: z.string(), column: name, about: z.string() }).optional(),
  rangeParameters: z.strictObject({ from: z.string(), to: z.string() }).optional(),
  maxLoss: z.strictObject({ share: z.number().min(0).max(1), rows: z.int().min(0) }).optional(),
  itemsMax: z.int().min(1).optional(),
  order: z.array(z.string()).optional(),
  earliest: z.iso.date().optional(),
  echoes: z.array(z.string()).optional(),
  envelopeUnknown: z.literal(true).optional(),
  provides: z
    .strictObject({ scope: z.literal('brand'), id: z.string(), name: z.string(), since: z.string() })
    .optional(),
  tool: name,
  use: z.string().optional(),
  tables: z.array(tableData).min(1),
});

/** A declaration as data, for JSON files. It declares no computations and no functions. */
type DeclarationData = z.infer<typeof declarationData>;

/**
 * Converts a declaration that was read as JSON.
 * @throws TypeError with the place of the wrong value and the allowed values
 * @example
 * const books = toDeclaration({
 *   name: 'books', about: 'Books.', scope: 'workspace', path: '/books', paging: 'single', change: { kind: 'set' }, tool: 'list_books',
 *   tables: [{ name: 'books', about: 'Books.', at: { list: 'data' }, key: ['id'], fields: { id: 'uuid', title: 'text' } }],
 * });
 */
export function toDeclaration(data: unknown): ResourceDeclaration {
  const parsed = declarationData.safeParse(data);
  if (!parsed.success) throw new TypeError(describeIssue(parsed.error.issues[0], data));
  // Zod's types allow undefined for absent members, which the result does not have.
  return defineResource({
    ...parsed.data,
    query: parsed.data.query ?? {},
    tables: toTables(parsed.data),
  } as ResourceDeclaration);
}

function toTables({ tables }: DeclarationData): unknown[] {
  return tables.map((table) => ({
    ...table,
    fields: toFields(table.fields),
    ...(table.beside === undefined ? {} : { beside: toFields(table.beside) }),
  }));
}

function toFields(fields: FieldsData): Fields {
  return Object.fromEntries(Object.entries(fields).map(([field, data]) => [field, toField(field, data)]));
}

function toField(field: string, data: FieldData): z.ZodType {
  if (typeof data === 'string') return toField(field, { kind: data });
  const described = data.about ?? `Field \`${field}\` of the API.`;
  if (data.kind === 'group') return group(described, toFields(data.fields));
  if (data.kind === 'children') {
    return children(described, { table: data.table, fields: toFields(data.fields), repeat: data.repeat ?? [] });
  }
  const options = data.column === undefined ? {} : { column: data.column };
  return data.kind === 'json' ? json(described, z.unknown(), options) : scalars[data.kind](described, options);
}

function describeIssue(issue: z.core.$ZodIssue | undefined, data: unknown): string {
  const path = issue?.path ?? [];
  const given = path.reduce<unknown>((at, step) => (at as Record<PropertyKey, unknown> | undefined)?.[step], data);
  const where = path.length === 0 ? 'the declaration' : path.join('.');
  const is = given === undefined ? 'is not set' : `is ${JSON.stringify(given).slice(0, 200)}`;
  return `${where} ${is}: ${issue?.message ?? 'not valid'}`;
}
