import { isRecord, parseExactJson } from '../base/json.ts';
import { toStored } from '../contract/convert.ts';
import type { EmptyForm, FieldWriters } from '../contract/field-forms.ts';
import { type ColumnKind, type Fields, metaOf } from '../contract/fields.ts';
import { SENT } from '../contract/sent-values.ts';
import type { Column } from '../contract/tables.ts';
import { hasForms, type ValueWriter } from '../contract/value-forms.ts';
import { quoted, utc } from './schema.ts';

type Item = Record<string, unknown>;

/** Converts table rows back to the items that upstream sent. */
export interface ItemReader {
  /** Expressions to select, in the order that `read` expects. */
  readonly select: readonly string[];
  /** Returns the item of a row; `nested` returns the elements of a nested array by field name. */
  read(row: readonly unknown[], nested: Nested): Item;
}

/** Columns and fields of the items to read. */
export interface ItemSource {
  readonly fields: Fields;
  readonly columns: readonly Column[];
  readonly alias: string;
  /** SQL of the undeclared fields, as JSON text. */
  readonly extra: string;
  /** Table, or table and nested array, by which the forms of the fields are known. */
  readonly place: string;
  readonly writers: FieldWriters;
}

/** Creates the reader of a table's items. Declared fields come first, in declared order, then undeclared ones. */
export function createItemReader({ fields, columns, alias, extra, place, writers }: ItemSource): ItemReader {
  const select = [`CAST(${extra} AS VARCHAR)`];
  const leafOf = (path: readonly string[]): Leaf => {
    const column = columns.find(({ source }) => source.from === 'item' && source.path.join('.') === path.join('.'));
    if (column === undefined) throw new TypeError(`no column for the field ${path.join('.')}`);
    const index = select.push(selected(alias, column)) - 1;
    return { index, column, write: writerOf(column.kind, writers.value(`${place}.${path.join('.')}`, column.kind)) };
  };
  const leaves = new Map<string, Leaf>();
  const readFields = fieldsReader(fields, [], {
    leafOf: (path) => {
      const leaf = leafOf(path);
      leaves.set(path.join('.'), leaf);
      return leaf;
    },
    emptyOf: (path) => writers.empty(`${place}.${path.join('.')}`),
  });
  return {
    select,
    read: (row, nested) => {
      const item = readFields(row, nested) ?? {};
      const unknown = row[0];
      if (typeof unknown !== 'string') return item;
      const { [SENT.values]: sent, [SENT.absent]: absent, ...added } = recordOf(parseExactJson(unknown));
      applySent(item, { sent: recordOf(sent), absent: Array.isArray(absent) ? absent : [] }, (path, value) =>
        isStored(leaves.get(path), value, row),
      );
      addExtra(item, added, fields);
      for (const name of [SENT.values, SENT.absent]) {
        if (isRecord(sent) && Object.hasOwn(sent, name)) item[name] = sent[name];
      }
      return item;
    },
  };
}

type Nested = (field: string) => readonly unknown[];

// A declared scalar field: the place of its value in a row, and how it is written.
interface Leaf {
  readonly index: number;
  readonly column: Column;
  readonly write: ValueWriter | null;
}

interface FieldSources {
  leafOf(path: readonly string[]): Leaf;
  emptyOf(path: readonly string[]): EmptyForm;
}

type FieldsReader = (row: readonly unknown[], nested: Nested) => Item | null;

function fieldsReader(fields: Fields, at: readonly string[], sources: FieldSources): FieldsReader {
  const steps = Object.entries(fields).map(([field, schema]) => {
    const meta = metaOf(schema);
    const path = [...at, field];
    const isLeftOut = sources.emptyOf(path) === 'absent';
    if (meta.as === 'child') {
      return { field, isLeftOut, read: (_: readonly unknown[], nested: Nested) => listOf(nested(field), isLeftOut) };
    }
    if (meta.as === 'group') return { field, isLeftOut, read: fieldsReader(meta.fields, path, sources) };
    const { index, write } = sources.leafOf(path);
    const read = (row: readonly unknown[]): unknown => {
      const value = row[index] ?? null;
      return value === null || write === null ? value : write(value);
    };
    return { field, isLeftOut, read };
  });
  return (row, nested) => {
    const item: Item = {};
    let isEmpty = true;
    for (const { field, isLeftOut, read } of steps) {
      const value = read(row, nested);
      if (value !== null || !isLeftOut) item[field] = value;
      isEmpty &&= value === null;
    }
    // Null and a nested object of nulls are stored alike; return null.
    return at.length > 0 && isEmpty ? null : item;
  };
}

function listOf(items: readonly unknown[], isLeftOut: boolean): readonly unknown[] | null {
  return isLeftOut && items.length === 0 ? null : items;
}

function recordOf(value: unknown): Item {
  return isRecord(value) ? value : {};
}

// A detail may have stored the text of a value that its list has replaced since.
function isStored(leaf: Leaf | undefined, sent: unknown, row: readonly unknown[]): boolean {
  if (leaf === undefined || sent === null) return true;
  const { kind } = leaf.column;
  const [own, theirs] = [row[leaf.index] ?? null, toStored(kind, sent)];
  return kind === 'timestamp' ? withMicroseconds(String(own)) === theirs : own === theirs;
}

function withMicroseconds(time: string): string {
  const [whole = '', fraction = ''] = time.split('.');
  return `${whole}.${fraction.padEnd(6, '0')}`;
}

// Sets values that have another form than their field, and removes fields that upstream left out.
function applySent(
  item: Item,
  { sent, absent }: { readonly sent: Item; readonly absent: readonly unknown[] },
  isCurrent: (path: string, value: unknown) => boolean,
): void {
  for (const [path, value] of Object.entries(sent)) {
    const at = isCurrent(path, value) ? holderOf(item, path) : null;
    if (at !== null) at.holder[at.name] = value;
  }
  for (const path of absent) {
    const at = holderOf(item, String(path));
    if (at !== null && isEmptyValue(at.holder[at.name])) delete at.holder[at.name];
  }
}

function holderOf(item: Item, path: string): { holder: Item; name: string } | null {
  const steps = path.split('.');
  const name = steps.pop() ?? '';
  const holder = steps.reduce<unknown>((at, step) => (isRecord(at) ? at[step] : null), item);
  return isRecord(holder) ? { holder, name } : null;
}

function isEmptyValue(value: unknown): boolean {
  return (value ?? null) === null || (Array.isArray(value) && value.length === 0);
}

// Undeclared fields of a nested object are stored under the object's name.
function addExtra(item: Item, extra: Item, fields: Fields): void {
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

function writerOf(kind: ColumnKind, write: ValueWriter): ValueWriter | null {
  if (kind === 'json') return (value) => parseExactJson(String(value));
  return hasForms(kind) ? write : null;
}
