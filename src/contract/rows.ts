import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isRecord, toCanonicalJson, toExactJson, withDoubles } from '../base/json.ts';
import { BodyError, frameOf, itemsOf, PageBoundError } from './body.ts';
import type { Catalogue, Resource } from './catalogue.ts';
import { type ColumnKind, type Fields, metaOf } from './fields.ts';
import type { Implausible } from './implausible.ts';
import type { ChildTable, Column, ResourceTable } from './tables.ts';
import { toDay, toTimestamp } from './time.ts';

/** Values by column, as JSON carries them; timestamps and days in the warehouse's form, UUIDs in lower case. */
export type Values = Readonly<Record<string, unknown>>;

/** One row with the rows of its child tables. */
export interface Row {
  readonly values: Values;
  /** Values of the key columns alone. */
  readonly key: Values;
  /** 16 hex digits: the first 64 bits of SHA-256 over the row's content, children and unknown fields included. */
  readonly hash: string;
  readonly extra: unknown;
  readonly children: readonly ChildRows[];
}

/** The rows that one item has in one child table. */
export interface ChildRows {
  readonly table: ChildTable;
  /** Columns that all of them take from their parent. */
  readonly inherited: Values;
  readonly rows: readonly { readonly values: Values; readonly extra: unknown }[];
}

/** Why a well-formed row is not stored: a value of it is outside its bounds. */
export interface Refusal {
  readonly reason: string;
  readonly implausible: Implausible;
}

/** An item that could not be taken as a row. */
export interface Rejected {
  readonly table: string;
  readonly reason: string;
  /** The value outside its bounds, if that is the reason. */
  readonly implausible?: Implausible;
  readonly item: unknown;
}

/** What one answer holds for one table. */
export interface TableRows {
  readonly table: ResourceTable;
  readonly rows: readonly Row[];
  /** The first of the items that could not be taken as rows, and how many there are. */
  readonly rejected: readonly Rejected[];
  readonly rejectedCount: number;
  /** How many of the rejected items have a time outside its bounds. */
  readonly implausibleCount: number;
  /** Keys of items that came more than once; the last of each was taken. */
  readonly repeated: readonly Values[];
  /** Keys of every item in the answer, rejected ones included: none of these is a deletion. */
  readonly seen: readonly Values[];
  /** How many items had no readable key, or lists were null: nothing may be concluded from what the answer lacks. */
  readonly unidentified: number;
}

/** Decides whether a well-formed row is stored: null if it is. */
export type RowCheck = (table: ResourceTable, values: Values) => Refusal | null;

/** What is known of a response besides its body. */
export interface ReadOptions {
  /** Items that a list may have. */
  readonly itemsMax: number;
  /** Length of the body, in bytes. */
  readonly bytes: number;
  /** Whether bytes that are not UTF-8 were replaced by U+FFFD: items with that character are rejected. */
  readonly isDamaged: boolean;
  /** Rejects rows; default: none. */
  readonly check?: RowCheck;
}

const UNBOUNDED: ReadOptions = { itemsMax: Number.POSITIVE_INFINITY, bytes: 0, isDamaged: false };

/** Rejected items that are kept of a page, and the longest that is kept whole, in characters of JSON. */
const REJECTED_MAX = 100;
const REJECTED_CHARACTERS_MAX = 100_000;
/** Longest item that is taken as a row, in characters of JSON; the longest article has about 200,000. */
const ITEM_CHARACTERS_MAX = 4_000_000;
/** Repeated keys that are kept of a page. */
const REPEATED_MAX = 100;

/** Reads an answer of one resource into rows. */
export interface RowReader {
  /**
   * `fixed` gives the columns that the request fixes (brand, range, row mode).
   * Throws a BodyError when the body misses its rows or when upstream ignored the parameter of `each`, and a
   * PageBoundError when a list has too many items.
   */
  read(body: unknown, fixed: Values, options?: ReadOptions): readonly TableRows[];
}

/** Compiles the reader of a resource; costly enough to be done once. */
export function createRowReader(catalogue: Catalogue, resource: Resource): RowReader {
  const readers = resource.derived.map((table) => tableReader(catalogue, resource, table));
  return {
    read: (body, fixed, options = UNBOUNDED) => {
      try {
        return readers.map((read) => read(body, fixed, options));
      } catch (thrown) {
        // The stack ends before JSON does: an item nested that deeply cannot be hashed or written.
        if (thrown instanceof RangeError) throw new PageBoundError('the body is nested too deeply', { cause: thrown });
        throw thrown;
      }
    },
  };
}

function tableReader(catalogue: Catalogue, resource: Resource, table: ResourceTable) {
  const { declaration } = table;
  const item = z.looseObject(declaration.fields);
  const beside = z.looseObject(declaration.beside ?? {});
  const known = new Set([...Object.keys(declaration.fields), ...listFields(catalogue, resource, table)]);
  if (declaration.at === 'body') for (const name of frameOf(resource)) known.add(name);
  const itemColumns = table.columns.filter((column) => column.source.from === 'item');
  const readItem = valueReader(itemColumns);
  const readBeside = valueReader(table.columns.filter((column) => column.source.from === 'body'));
  const readKey = keyReader(table, itemColumns);
  const readExtra = extraReader(known, declaration.fields);
  const readChildren = table.children.map(childReader);
  const hashOf = createHasher(table);

  return (body: unknown, fixed: Values, { itemsMax, bytes, isDamaged, check = () => null }: ReadOptions): TableRows => {
    const listed = itemsOf(resource, table, body);
    const items = listed ?? [];
    if (items.length > itemsMax) {
      throw new PageBoundError(`a list of ${items.length} items; allowed: ${itemsMax}`);
    }
    const frame = beside.safeParse(declaration.beside === undefined || Array.isArray(body) ? {} : body);
    if (!frame.success) throw new BodyError(`beside the list: ${firstIssue(frame.error)}`);
    const common = { ...pick(fixed, table.fixed), ...readBeside(frame.data) };
    const rows = new Map<string, Row>();
    const rejected: Rejected[] = [];
    const repeated: Values[] = [];
    let rejectedCount = 0;
    let implausibleCount = 0;
    const reject = (refusal: Pick<Rejected, 'reason' | 'implausible'>, raw: unknown): void => {
      rejectedCount += 1;
      if (refusal.implausible !== undefined) implausibleCount += 1;
      if (rejected.length < REJECTED_MAX) rejected.push({ table: table.name, ...refusal, item: writable(raw) });
    };
    const seen = new Map<string, Values>();
    // Null may stand for an empty list; it is no proof that every row is gone.
    let unidentified = listed === null ? 1 : 0;
    for (const raw of items) {
      const shaped = declaration.normalize === undefined ? raw : declaration.normalize(raw);
      const key = readKey(shaped, common);
      const keyText = JSON.stringify(key);
      if (key === null) unidentified += 1;
      else if (!seen.has(keyText)) seen.set(keyText, key);
      else if (repeated.length < REPEATED_MAX) repeated.push(key);
      if (!isRecord(shaped)) {
        reject({ reason: 'it is not an object' }, raw);
        continue;
      }
      const exact = item.safeParse(shaped);
      // A declared number may be an exact one: it is taken as a double or rejected as one.
      const plain = exact.success ? shaped : withDoubles(shaped);
      const parsed = plain === shaped ? exact : item.safeParse(plain);
      if (!parsed.success || key === null) {
        const reason = parsed.success ? `it lacks its key (${declaration.key.join(', ')})` : firstIssue(parsed.error);
        reject({ reason }, raw);
        continue;
      }
      // Only items of a long or damaged page are looked at once more.
      const unfit = bytes > ITEM_CHARACTERS_MAX || isDamaged ? unfitness(raw, isDamaged) : null;
      if (unfit !== null) {
        reject({ reason: unfit }, raw);
        continue;
      }
      const values = Object.assign(readItem(parsed.data), common);
      const refusal = check(table, values);
      if (refusal !== null) {
        reject(refusal, raw);
        continue;
      }
      const children = readChildren.map((read) => read(parsed.data, values));
      const extra = readExtra(raw);
      rows.set(keyText, { values, key, extra, children, hash: hashOf(values, children, extra) });
    }
    checkUnique(resource, declaration.fields, fixed, items);
    return {
      table,
      rows: [...rows.values()],
      rejected,
      rejectedCount,
      implausibleCount,
      repeated,
      seen: [...seen.values()],
      unidentified,
    };
  };
}

// A detail repeats the fields of its list; they are known, and the list has the say about them.
function listFields(catalogue: Catalogue, resource: Resource, table: ResourceTable): string[] {
  if (resource.change.kind !== 'detail') return [];
  const list = catalogue.get(resource.change.of).derived.find((candidate) => candidate.name === table.name);
  return Object.keys(list?.declaration.fields ?? {});
}

// Readers are compiled once for each table: a page has thousands of values, and what can be looked up before is.

type Item = Record<string, unknown>;

function valueReader(columns: readonly Column[]): (item: Item) => Item {
  const steps = columns.flatMap(({ name, kind, source }) =>
    source.from === 'item' || source.from === 'body' ? [{ name, path: source.path, convert: converterOf(kind) }] : [],
  );
  return (item) => {
    const values: Item = {};
    for (const { name, path, convert } of steps) {
      let value: unknown = item;
      for (const step of path) value = isRecord(value) ? value[step] : null;
      values[name] = value === null || value === undefined ? null : convert === null ? value : convert(value as string);
    }
    return values;
  };
}

function converterOf(kind: ColumnKind): ((value: string) => unknown) | null {
  switch (kind) {
    case 'uuid':
      return (value) => value.toLowerCase();
    // Half of a surrogate pair has no UTF-8 form: two keys that differ in it alone would be one in the warehouse.
    case 'text':
      return (value) => value.toWellFormed();
    case 'timestamp':
      return toTimestamp;
    case 'day':
      return toDay;
    default:
      return null;
  }
}

function keyReader(table: ResourceTable, itemColumns: readonly Column[]) {
  const nullable = new Set(table.declaration.nullableKey ?? []);
  const parts = table.key.map((name) => {
    const column = itemColumns.find((candidate) => candidate.name === name);
    if (column === undefined || column.source.from !== 'item') return { name, field: null };
    const field = column.source.path[0] as string;
    const schema = table.declaration.fields[field] as z.ZodType;
    return { name, field, schema, convert: converterOf(column.kind), nullable: nullable.has(field) };
  });
  return (item: unknown, common: Values): Values | null => {
    const key: Item = {};
    for (const part of parts) {
      if (part.field === null) {
        key[part.name] = common[part.name] ?? null;
        continue;
      }
      const raw = isRecord(item) ? (item[part.field] ?? null) : null;
      if (raw === null && !part.nullable) return null;
      if (raw !== null && !part.schema.safeParse(raw).success) return null;
      key[part.name] = raw === null || part.convert === null ? raw : part.convert(raw as string);
    }
    return key;
  };
}

function childReader(child: ChildTable): (item: Item, parent: Values) => ChildRows {
  const read = valueReader(child.columns);
  const readExtra = extraReader(new Set(Object.keys(child.fields)), child.fields);
  const links = child.columns.flatMap(({ name, source }) =>
    source.from === 'parent' ? [{ name, from: source.column }] : [],
  );
  return (item, parent) => {
    const list = item[child.field];
    const items = Array.isArray(list) ? (list as Item[]) : [];
    const inherited: Item = {};
    for (const { name, from } of links) inherited[name] = parent[from];
    const rows = items.map((entry, ordinal) => {
      const values = read(entry);
      values['ordinal'] = ordinal;
      return { values, extra: readExtra(entry) };
    });
    return { table: child, inherited, rows };
  };
}

function extraReader(known: ReadonlySet<string>, fields: Fields): (item: unknown) => Item | null {
  const groups = new Map<string, (item: unknown) => Item | null>();
  // Rows of a nested array cannot tell null from an empty one.
  const lists = new Set<string>();
  for (const [name, field] of Object.entries(fields)) {
    const meta = metaOf(field);
    if (meta.as === 'child') lists.add(name);
    if (meta.as === 'group') groups.set(name, extraReader(new Set(Object.keys(meta.fields)), meta.fields));
  }
  return (item) => {
    if (!isRecord(item)) return null;
    let extra: Item | null = null;
    for (const name of Object.keys(item)) {
      const isNullList = item[name] === null && lists.has(name);
      const value = known.has(name) && !isNullList ? groups.get(name)?.(item[name]) : item[name];
      if (value === undefined || (value === null && known.has(name) && !isNullList)) continue;
      extra ??= {};
      // Defined, not assigned: upstream may name a field __proto__.
      Object.defineProperty(extra, name, { value, enumerable: true, configurable: true, writable: true });
    }
    return extra;
  };
}

// JSON columns and unknown fields are put into a canonical form first, because upstream may reorder their keys;
// all other values stand in the declared order already. What a request fixes is part of the key, not of the content.
function createHasher(table: ResourceTable) {
  const prefix = [table.name, ...table.columns.map((column) => column.name)].join();
  const contentOf = contentReader(table.columns);
  const childContents = table.children.map((child) => contentReader(child.columns));
  return (values: Values, children: readonly ChildRows[], extra: unknown): string => {
    const content = [
      contentOf(values),
      children.map(({ rows }, index) =>
        rows.map((row) => [childContents[index]?.(row.values), row.extra === null ? null : toCanonicalJson(row.extra)]),
      ),
      extra === null ? null : toCanonicalJson(extra),
    ];
    return createHash('sha256').update(prefix).update(JSON.stringify(content)).digest('hex').slice(0, 16);
  };
}

function contentReader(columns: readonly Column[]): (values: Values) => unknown[] {
  const own = columns.filter(({ source }) => source.from === 'item' || source.from === 'body');
  return (values) =>
    own.map(({ name, kind }) => {
      const value = values[name];
      return kind === 'json' && value !== null ? toCanonicalJson(value) : value;
    });
}

// A rejected item is stored as it came; of a long one the beginning of its JSON text is.
function writable(item: unknown): unknown {
  const text = toExactJson(item);
  return text.length > REJECTED_CHARACTERS_MAX ? text.slice(0, REJECTED_CHARACTERS_MAX) : item;
}

// Why an item is not taken although it has the declared form, or null.
function unfitness(item: unknown, isDamaged: boolean): string | null {
  const text = JSON.stringify(item);
  if (text.length > ITEM_CHARACTERS_MAX) {
    return `it has ${text.length} characters of JSON; allowed: ${ITEM_CHARACTERS_MAX}`;
  }
  return isDamaged && text.includes('\ufffd') ? 'it is not UTF-8' : null;
}

function checkUnique(resource: Resource, fields: Fields, fixed: Values, items: readonly unknown[]): void {
  const { each } = resource;
  const value = each === undefined ? undefined : fixed[each.column];
  const unique = typeof value === 'string' ? each?.unique?.[value] : undefined;
  if (each === undefined || unique === undefined) return;
  const keys = items.map((item) => JSON.stringify(unique.map((field) => (isRecord(item) ? item[field] : null))));
  if (new Set(keys).size < keys.length && unique.every((field) => field in fields)) {
    throw new IgnoredParameterError(`upstream ignored ${each.parameter}=${String(value)}`);
  }
}

/** Upstream answered as if a parameter had not been sent. */
export class IgnoredParameterError extends BodyError {
  override readonly retryable = false;
}

function pick(values: Values, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, values[name] ?? null]));
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  const path = issue?.path.join('.') ?? '';
  return path === '' ? (issue?.message ?? 'it is malformed') : `${path}: ${issue?.message ?? 'it is malformed'}`;
}
