import { isRecord, parseExactJson } from '../base/json.ts';
import { type ColumnKind, type Fields, metaOf } from '../contract/fields.ts';
import type { Column } from '../contract/tables.ts';
import { quoted, utc } from './schema.ts';

type Item = Record<string, unknown>;

/** Converts table rows back to the items that upstream sent. */
export interface ItemReader {
  /** Expressions to select, in the order that `read` expects. */
  readonly select: readonly string[];
  /** Returns the item of a row; `nested` returns the elements of a nested array by field name. */
  read(row: readonly unknown[], nested: (field: string) => readonly unknown[]): Item;
}

/** Columns and fields of the items to read. */
export interface ItemSource {
  readonly fields: Fields;
  readonly columns: readonly Column[];
  readonly alias: string;
  /** SQL of the undeclared fields, as JSON text. */
  readonly extra: string;
  /** Minimum number of fractional digits of a second, as upstream writes them. */
  readonly timeDigits: number;
}

/** Creates the reader of a table's items. Declared fields come first, in declared order, then undeclared ones. */
export function createItemReader({ fields, columns, alias, extra, timeDigits }: ItemSource): ItemReader {
  const select = [`CAST(${extra} AS VARCHAR)`];
  const readFields = fieldsReader(fields, [], (path) => {
    const column = columns.find(({ source }) => source.from === 'item' && source.path.join('.') === path.join('.'));
    if (column === undefined) throw new TypeError(`no column for the field ${path.join('.')}`);
    const place = select.push(selected(alias, column)) - 1;
    const convert = converterOf(column.kind, timeDigits);
    return (row) => {
      const value = row[place] ?? null;
      return value === null || convert === null ? value : convert(value as string);
    };
  });
  return {
    select,
    read: (row, nested) => {
      const item = readFields(row, nested) ?? {};
      const unknown = row[0];
      if (typeof unknown === 'string') addExtra(item, parseExactJson(unknown), fields);
      return item;
    },
  };
}

type FieldsReader = (row: readonly unknown[], nested: (field: string) => readonly unknown[]) => Item | null;

function fieldsReader(
  fields: Fields,
  at: readonly string[],
  readerOf: (path: readonly string[]) => (row: readonly unknown[]) => unknown,
): FieldsReader {
  const steps = Object.entries(fields).map(([field, schema]) => {
    const meta = metaOf(schema);
    const path = [...at, field];
    if (meta.as === 'child') return { field, read: (_: readonly unknown[], nested: Nested) => nested(field) };
    if (meta.as === 'group') return { field, read: fieldsReader(meta.fields, path, readerOf) };
    return { field, read: readerOf(path) };
  });
  return (row, nested) => {
    const item: Item = {};
    let isEmpty = true;
    for (const { field, read } of steps) {
      const value = read(row, nested);
      item[field] = value;
      isEmpty &&= value === null;
    }
    // Null and a nested object of nulls are stored alike; return null.
    return at.length > 0 && isEmpty ? null : item;
  };
}

type Nested = (field: string) => readonly unknown[];

// Undeclared fields of a nested object are stored under the object's name.
function addExtra(item: Item, extra: unknown, fields: Fields): void {
  if (!isRecord(extra)) return;
  for (const [name, value] of Object.entries(extra)) {
    const schema = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const meta = schema === undefined ? undefined : metaOf(schema);
    if (meta?.as === 'group' && isRecord(value)) {
      const inner = isRecord(item[name]) ? item[name] : nothingOf(meta.fields);
      addExtra(inner, value, meta.fields);
      item[name] = inner;
    } else {
      // Assignment would change the prototype if upstream names a field `__proto__`.
      Object.defineProperty(item, name, { value, enumerable: true, configurable: true, writable: true });
    }
  }
}

// A nested object that has only undeclared fields still has the declared ones.
function nothingOf(fields: Fields): Item {
  return Object.fromEntries(Object.keys(fields).map((name) => [name, null]));
}

function selected(alias: string, { name, kind }: Column): string {
  const column = `${alias}.${quoted(name)}`;
  if (kind === 'timestamp') return `CAST(${utc(column)} AS VARCHAR)`;
  return kind === 'uuid' || kind === 'day' || kind === 'json' ? `CAST(${column} AS VARCHAR)` : column;
}

function converterOf(kind: ColumnKind, timeDigits: number): ((text: string) => unknown) | null {
  if (kind === 'json') return parseExactJson;
  if (kind === 'timestamp') return (text) => toIsoTime(text, timeDigits);
  return null;
}

/** Converts DuckDB's text of a UTC timestamp to ISO 8601 with Z and at least `digits` fractional digits. */
export function toIsoTime(text: string, digits: number): string {
  const [whole = '', fraction = ''] = text.replace(' ', 'T').split('.');
  const kept = fraction.replace(/0+$/, '').padEnd(digits, '0');
  return `${whole}${kept === '' ? '' : `.${kept}`}Z`;
}
