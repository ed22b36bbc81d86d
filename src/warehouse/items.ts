import { isRecord, parseExactJson } from '../base/json.ts';
import { type ColumnKind, type Fields, metaOf } from '../contract/fields.ts';
import type { Column } from '../contract/tables.ts';
import { quoted } from './schema.ts';

type Item = Record<string, unknown>;

/** Turns rows of a table back into the items they were made from. */
export interface ItemReader {
  /** What to select, in the order in which `read` takes the values. */
  readonly select: readonly string[];
  /** The item of a row; `nested` gives the elements of its nested arrays by field. */
  read(row: readonly unknown[], nested: (field: string) => readonly unknown[]): Item;
}

/** What an item is read from. */
export interface ItemSource {
  readonly fields: Fields;
  readonly columns: readonly Column[];
  readonly alias: string;
  /** SQL of the unknown fields, as JSON text. */
  readonly extra: string;
  /** Digits of a second's fraction, as upstream writes them; more are kept where there are more. */
  readonly timeDigits: number;
}

/** Compiles the reader of a table's items: fields in the declared order, then those that nobody declared. */
export function createItemReader({ fields, columns, alias, extra, timeDigits }: ItemSource): ItemReader {
  const select = [`CAST(${extra} AS VARCHAR)`];
  const readFields = fieldsReader(fields, [], (path) => {
    const column = columns.find(({ source }) => source.from === 'item' && source.path.join('.') === path.join('.'));
    if (column === undefined) throw new TypeError(`no column holds the field ${path.join('.')}`);
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
    // A nested object of which nothing is there was null.
    return at.length > 0 && isEmpty ? null : item;
  };
}

type Nested = (field: string) => readonly unknown[];

// Of a nested object, unknown fields stand under its own name.
function addExtra(item: Item, extra: unknown, fields: Fields): void {
  if (!isRecord(extra)) return;
  for (const [name, value] of Object.entries(extra)) {
    const schema = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const meta = schema === undefined ? undefined : metaOf(schema);
    if (meta?.as === 'group' && isRecord(value)) {
      const inner = isRecord(item[name]) ? item[name] : {};
      addExtra(inner, value, meta.fields);
      item[name] = inner;
    } else {
      // Defined, not assigned: upstream may name a field __proto__.
      Object.defineProperty(item, name, { value, enumerable: true, configurable: true, writable: true });
    }
  }
}

function selected(alias: string, { name, kind }: Column): string {
  const column = `${alias}.${quoted(name)}`;
  return kind === 'uuid' || kind === 'timestamp' || kind === 'day' || kind === 'json'
    ? `CAST(${column} AS VARCHAR)`
    : column;
}

function converterOf(kind: ColumnKind, timeDigits: number): ((text: string) => unknown) | null {
  if (kind === 'json') return parseExactJson;
  if (kind === 'timestamp') return (text) => toIsoTime(text, timeDigits);
  return null;
}

/** DuckDB's text of a UTC timestamp as ISO 8601 with Z and at least so many digits of a second's fraction. */
export function toIsoTime(text: string, digits: number): string {
  const [whole = '', fraction = ''] = text.replace(' ', 'T').split('.');
  const kept = fraction.replace(/0+$/, '').padEnd(digits, '0');
  return `${whole}${kept === '' ? '' : `.${kept}`}Z`;
}
