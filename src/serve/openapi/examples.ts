import { createHash } from 'node:crypto';
import { memberAt } from '../../base/json.ts';
import type { Resource } from '../../contract/catalogue.ts';
import {
  bodySchema,
  itemSchema,
  type JsonSchema,
  parameterSchema,
  rowName,
  type SchemaOptions,
} from '../../contract/json-schema.ts';
import type { Parameter } from '../../contract/parameters.ts';
import type { TableDeclaration } from '../../contract/resource.ts';
import { toCsv } from '../../read/formats/csv.ts';
import { endLine, itemLines } from '../../read/formats/ndjson.ts';
import { toRowSet } from '../../read/row-set.ts';

/** An example response: the body, and its list as CSV and as NDJSON. */
export interface ExampleAnswer {
  readonly body: unknown;
  readonly csv: string;
  readonly ndjson: string;
}

/** Returns an example response of a resource; the result is deterministic. */
export function exampleAnswer(
  resource: Resource,
  all: readonly Resource[],
  served: NonNullable<SchemaOptions['served']>,
): ExampleAnswer {
  const guess = (name: string, schema: JsonSchema): JsonSchema => {
    const table = resource.tables.find((candidate) => rowName(candidate.name) === name);
    return table?.whole === undefined ? schema : itemSchema(guessedFields(table));
  };
  const schema = bodySchema(resource, all, { refer: guess, served });
  const body = exampleOf(schema, '', (name) => valueOfParameter(resource, name));
  const [table] = resource.tables.filter(({ at }) => at !== 'body');
  const list = table === undefined || table.at === 'body' ? undefined : listIn(body, table.at.list);
  if (table === undefined || !Array.isArray(list)) return { body, csv: '', ndjson: '' };
  const { columns, rows } = toRowSet(table.whole === undefined ? table.fields : guessedFields(table), list);
  const names = columns.map(({ name }) => name);
  return { body, csv: toCsv(names, rows()), ndjson: `${itemLines(list)}${endLine(list.length, null)}` };
}

function listIn(body: unknown, name: string): unknown {
  return Array.isArray(body) ? body : memberAt(body, name);
}

/** Returns the member of a parameter object with a valid value. Cursors have only a description: no fixed value is valid. */
export function parameterExample(name: string, parameter: Parameter): { readonly [member: string]: unknown } {
  if (parameter.kind === 'cursor') return { examples: { nextPage: { summary: '`nextCursor` of the previous page.' } } };
  const known = () => wordOf(name, parameter);
  return { example: parameter.default ?? exampleOf(parameterSchema(parameter), name, known) };
}

/** Returns a value that the schema allows, the same for the same name. `known` may return a better value for a text. */
export function exampleOf(
  schema: JsonSchema,
  name: string,
  known: (name: string) => unknown = () => undefined,
): unknown {
  const { const: only, enum: values, anyOf, properties, items } = schema as Schema;
  if (only !== undefined) return only;
  if (anyOf?.[0] !== undefined) return exampleOf(anyOf[0], name, known);
  if (values !== undefined) return values[0];
  switch (typeOf(schema as Schema)) {
    case 'object':
      return Object.fromEntries(
        Object.entries(properties ?? {}).map(([field, inner]) => [field, exampleOf(inner, field, known)]),
      );
    case 'array':
      return items === undefined ? [] : [exampleOf(items, name.replace(/s$/, ''), known)];
    case 'integer':
      return 1 + (numberFrom(name) % 40);
    case 'number':
      return (numberFrom(name) % 1000) / 10;
    case 'boolean':
      return true;
    case 'string':
      return textOf(schema as Schema, name, known);
    default:
      return {};
  }
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
}

function typeOf({ type }: Schema): string | undefined {
  return typeof type === 'string' ? type : type?.find((one) => one !== 'null');
}

// For unspecified item forms, show the fields that are recognized in them.
function guessedFields({ fields, whole }: TableDeclaration): TableDeclaration['fields'] {
  return Object.fromEntries(Object.entries(fields).filter(([field]) => field !== whole));
}

// A field with the name of a parameter gets one of the parameter's values.
function valueOfParameter({ query }: Resource, name: string): string | undefined {
  const parameter = Object.hasOwn(query, name) ? query[name] : undefined;
  return parameter === undefined ? undefined : wordOf(name, parameter);
}

function wordOf(name: string, { values, oneOf, example }: Parameter): string | undefined {
  return values?.[0] ?? example ?? (oneOf === undefined ? undefined : `example-${name}`);
}

function textOf({ format, description }: Schema, name: string, known: (name: string) => unknown): unknown {
  switch (format) {
    case 'uuid':
      return uuidFrom(name);
    case 'date':
      return name === 'from' ? '2026-02-14' : '2026-03-15';
    case 'date-time':
      return '2026-03-15T09:30:00.000Z';
  }
  const value = known(name);
  if (value !== undefined) return value;
  // A description that begins with a value in backquotes provides the example.
  const described = /^`([^`]+)`/.exec(description ?? '')?.[1];
  if (described !== undefined) return described;
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  if (/url$/i.test(name)) return 'https://www.example.com/page';
  if (/domain$/i.test(name)) return 'www.example.com';
  if (/slug$|cursor$/i.test(name)) return `example-${words.replaceAll(' ', '-')}`;
  return `Example ${words}`;
}

function numberFrom(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32BE(0);
}

// Version 4, variant 1, like random ids.
function uuidFrom(name: string): string {
  const digits = createHash('sha256').update(name).digest('hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}
