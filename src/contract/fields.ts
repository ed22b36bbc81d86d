import { z } from 'zod';
import { toDay, toTimestamp } from './time.ts';

/** Kinds of scalar columns. The warehouse maps each kind to one SQL type. */
export type ColumnKind = 'uuid' | 'text' | 'integer' | 'number' | 'boolean' | 'timestamp' | 'day' | 'json';

/** The fields of an item or of a nested object, by the API's names. */
export type Fields = Readonly<Record<string, z.ZodType>>;

/** A nested array that becomes a table of its own. */
export interface ChildDeclaration {
  readonly table: string;
  readonly fields: Fields;
  /** Fields of the parent that are repeated on every child row to avoid a join. */
  readonly repeat: readonly string[];
}

/** How a field becomes columns. */
export type FieldMeta =
  | {
      readonly as: 'column';
      readonly kind: ColumnKind;
      readonly column: string | undefined;
      /** JSON pointer of the value in the stored item, from which the warehouse derives the column; undefined for others. */
      readonly pointer: string | undefined;
      readonly about: string;
      /** True if the field has few distinct values; upstream may add values. */
      readonly isLabel: boolean;
      /** True if the read server computes the value and never serves null for it. */
      readonly neverNull: boolean;
    }
  | { readonly as: 'group'; readonly fields: Fields; readonly about: string }
  | {
      readonly as: 'child';
      readonly child: ChildDeclaration;
      readonly about: string;
    };

interface ColumnOptions {
  /** Column name; default: derived from the field's name. */
  readonly column?: string;
  /** JSON pointer of the value in the stored item, from which the warehouse derives the column. */
  readonly pointer?: string;
  /** Set if the read server computes the value, such as a count, and never serves null for it, whatever upstream sent. */
  readonly neverNull?: true;
}

/** Property of a field with its column metadata. */
// A program and sightline may load this module from different copies of the package.
const META = Symbol.for('sightline column metadata');

/**
 * Returns the column metadata of a field.
 * @throws TypeError if the schema was not made with a helper of this file
 */
export function metaOf(field: z.ZodType): FieldMeta {
  const meta = (field as z.ZodType & { readonly [META]?: FieldMeta })[META];
  if (meta === undefined) throw new TypeError('a field must be declared with a helper of contract/fields.ts');
  return meta;
}

/** Whether the warehouse derives the column of a field from the stored item. */
export function isDerived(field: z.ZodType): boolean {
  const meta = metaOf(field);
  return meta.as === 'column' && meta.pointer !== undefined;
}

/** A UUID in its usual hyphenated form, any version, either case. */
export function uuid(about: string, options: ColumnOptions = {}): z.ZodType {
  return column(z.guid().meta({ format: 'uuid' }), 'uuid', about, options);
}

/** Text of any length; enumerations are text too, because upstream may add values. */
export function text(about: string, options: ColumnOptions = {}): z.ZodType {
  return column(z.string(), 'text', about, options);
}

/** Text with few distinct values, such as a state or a slug. New values are reported as drift. */
export function label(about: string, options: ColumnOptions = {}): z.ZodType {
  return column(z.string(), 'text', about, options, true);
}

/** An integer of at most 2^53 - 1 in magnitude. */
export function integer(about: string, options: ColumnOptions = {}): z.ZodType {
  return column(z.int(), 'integer', about, options);
}

/** A double. */
export function number(about: string, options: ColumnOptions = {}): z.ZodType {
  return column(z.number(), 'number', about, options);
}

/** `true` or `false`; numbers and strings are rejected. */
export function boolean(about: string, options: ColumnOptions = {}): z.ZodType {
  return column(z.boolean(), 'boolean', about, options);
}

/** A moment in UTC, ISO 8601. */
export function timestamp(about: string, options: ColumnOptions = {}): z.ZodType {
  const moment = z.string().refine((value) => toTimestamp(value) !== null, 'is not an ISO 8601 date-time');
  return column(moment.meta({ format: 'date-time' }), 'timestamp', about, options);
}

/** A calendar day, `YYYY-MM-DD`. */
export function day(about: string, options: ColumnOptions = {}): z.ZodType {
  const date = z.string().refine((value) => toDay(value) !== null, 'is not a day (YYYY-MM-DD)');
  return column(date.meta({ format: 'date' }), 'day', about, options);
}

/** A value without a flat form, stored as JSON text and validated by `inner`. */
export function json(about: string, inner: z.ZodType = z.unknown(), options: ColumnOptions = {}): z.ZodType {
  return column(inner, 'json', about, options);
}

/** A nested object whose fields become columns prefixed with the field's name: `topic.id` is `topic_id`. */
export function group(about: string, fields: Fields): z.ZodType {
  return withMeta(z.looseObject(fields), { as: 'group', fields, about });
}

/** A nested array of objects, stored in order in the child table `child.table`. */
export function children(about: string, child: ChildDeclaration): z.ZodType {
  return withMeta(z.array(z.looseObject(child.fields)), {
    as: 'child',
    child,
    about,
  });
}

function column(
  schema: z.ZodType,
  kind: ColumnKind,
  about: string,
  options: ColumnOptions,
  isLabel = false,
): z.ZodType {
  return withMeta(schema, {
    as: 'column',
    kind,
    column: options.column,
    pointer: options.pointer,
    about,
    isLabel,
    neverNull: options.neverNull === true,
  });
}

// Every field may be null or missing: the specification marks few fields as nullable, and an incomplete item is better
// than a rejected list. Only key fields are required; the row reader checks them.
function withMeta(schema: z.ZodType, meta: FieldMeta): z.ZodType {
  return Object.assign(schema.nullish().meta({ description: meta.about }), { [META]: meta });
}
