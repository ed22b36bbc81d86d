import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isRecord, sortMembers, toCanonicalJson, toExactJson } from '../base/json.ts';
import { createBesideReader } from './beside-list.ts';
import { BodyError, frameOf, itemsOf, PageBoundError } from './body.ts';
import type { Catalogue, Resource } from './catalogue.ts';
import { converterOf, withNumbers } from './convert.ts';
import { createObservedForms, type ObservedForms } from './field-forms.ts';
import { type Fields, isDerived, metaOf } from './fields.ts';
import type { Implausible } from './implausible.ts';
import { createOrderObserver } from './list-order.ts';
import { createBodyObserver, createFormObserver, type FormObserver, placeOf } from './observed-forms.ts';
import {
  type ChildTable,
  CONTENT_KEY,
  type Column,
  columnOf,
  hasContentKey,
  pointerOfColumn,
  type ResourceTable,
} from './tables.ts';

/** JSON values by column; timestamps and days in the warehouse's text form, UUIDs in lower case. */
export type Values = Readonly<Record<string, unknown>>;

/** One row with the rows of its child tables. */
export interface Row {
  readonly values: Values;
  /** Values of the key columns. */
  readonly key: Values;
  /** 16 hex digits: the first 64 bits of SHA-256 over the item as sent, with sorted members because upstream may reorder them. */
  readonly hash: string;
  /** The item as upstream sent it, as JSON text; null if a field has it. Without the lists of a body that is an item. */
  readonly item: string | null;
  /** Undeclared fields, with sorted members. */
  readonly extra: unknown;
  readonly children: readonly ChildRows[];
}

/** The rows that one item has in one child table. */
export interface ChildRows {
  readonly table: ChildTable;
  /** Columns copied from the parent row. */
  readonly inherited: Values;
  readonly rows: readonly { readonly values: Values; readonly extra: unknown }[];
}

/** Reason for rejecting a well-formed row: one of its values is out of bounds. */
export interface Refusal {
  readonly reason: string;
  readonly implausible: Implausible;
}

/** An item that could not be converted to a row. */
export interface Rejected {
  readonly table: string;
  readonly reason: string;
  /** The out-of-bounds value, if that is the reason. */
  readonly implausible?: Implausible;
  readonly item: unknown;
}

/** Rows and rejected items of one body for one table. */
export interface TableRows {
  readonly table: ResourceTable;
  readonly rows: readonly Row[];
  /** The first rejected items; `rejectedCount` is the total. */
  readonly rejected: readonly Rejected[];
  readonly rejectedCount: number;
  /** Number of rejected items with an out-of-bounds time. */
  readonly implausibleCount: number;
  /** Keys that occur more than once; the last item of each key is stored. */
  readonly repeated: readonly Values[];
  /** Keys of all items in the body, including rejected ones; none of these rows was deleted. */
  readonly seen: readonly Values[];
  /** Number of items without a readable key, plus 1 if the list is null. If not 0, missing rows do not prove deletions. */
  readonly unidentified: number;
}

/** Checks a well-formed row: returns null to store it, or the reason to reject it. */
export type RowCheck = (table: ResourceTable, values: Values) => Refusal | null;

/** Number of rows with the same content in a slice, by content. Counting them again from the first page gives the same keys. */
export type Repeats = Map<string, number>;

/** Properties of a response and its request that limit its rows. */
export interface ReadOptions {
  /** Maximum items of a list. */
  readonly itemsMax: number;
  /** Length of the body, in bytes. */
  readonly bytes: number;
  /** True if invalid UTF-8 was replaced by U+FFFD. Items with that character are then rejected. */
  readonly isDamaged: boolean;
  /** Additional check of rows; default: none. */
  readonly check?: RowCheck;
  /** Rows of earlier pages that are identified by their content; default: none. */
  readonly repeats?: Repeats;
}

const UNBOUNDED: ReadOptions = { itemsMax: Number.POSITIVE_INFINITY, bytes: 0, isDamaged: false };

/** Key of the only object of a request. */
const ONLY_OBJECT = 'object';
/** Maximum rejected items stored per page, and maximum length of a stored item in characters of JSON. */
const REJECTED_MAX = 100;
const REJECTED_CHARACTERS_MAX = 100_000;
/** Maximum length of an item in characters of JSON; the longest article has about 200,000. */
const ITEM_CHARACTERS_MAX = 4_000_000;
/** Maximum repeated keys reported per page. */
const REPEATED_MAX = 100;

/** Converts bodies of one resource to rows. */
export interface RowReader {
  /**
   * Returns the rows of each table of the resource. `fixed` are the columns set by the request (brand, range, row mode).
   * @throws BodyError if the body has no rows, or if upstream ignored the parameter of `each`
   * @throws PageBoundError if a list has too many items or the body is nested too deeply
   */
  read(body: unknown, fixed: Values, options?: ReadOptions): readonly TableRows[];
}

/**
 * Compiles the reader of a resource. Compiling is expensive: do it once per resource. `forms` are the observed forms of values;
 * pages add to them.
 */
export function createRowReader(
  catalogue: Catalogue,
  resource: Resource,
  forms: ObservedForms = createObservedForms(),
): RowReader {
  const readers = resource.derived.map((table) => tableReader({ catalogue, resource, forms }, table));
  const observeBody = createBodyObserver(resource, forms);
  const observeBeside = createBesideReader(resource, forms);
  return {
    read: (body, fixed, options = UNBOUNDED) => {
      try {
        observeBody(body);
        observeBeside(body);
        return readers.map((read) => read(body, fixed, options));
      } catch (thrown) {
        // Stack overflow: the item is nested too deeply to be hashed or written.
        if (thrown instanceof RangeError) throw new PageBoundError('the body is nested too deeply', { cause: thrown });
        throw thrown;
      }
    },
  };
}

interface ReaderParts {
  readonly catalogue: Catalogue;
  readonly resource: Resource;
  readonly forms: ObservedForms;
}

function tableReader(parts: ReaderParts, table: ResourceTable) {
  const { resource } = parts;
  const { declaration } = table;
  const beside = z.looseObject(declaration.beside ?? {});
  const itemColumns = table.columns.filter(
    (column) => column.source.from === 'item' && pointerOfColumn(column) === null,
  );
  const readBeside = valueReader(table.columns.filter((column) => column.source.from === 'body'));
  const readKey = keyReader(table, itemColumns);
  const observe = formObserver(parts, table);
  const readRow = rowReader(parts, table, { readItem: valueReader(itemColumns, wholeColumnOf(table)), observe });
  const observeOrder = createOrderObserver(resource, table, parts.forms);

  return (body: unknown, fixed: Values, options: ReadOptions): TableRows => {
    const { itemsMax, repeats = new Map() } = options;
    const listed = itemsOf(resource, table, body);
    const items = listed ?? [];
    if (items.length > itemsMax) {
      throw new PageBoundError(`the list has ${items.length} items; allowed: up to ${itemsMax}`);
    }
    const around = declaration.beside === undefined || Array.isArray(body) ? {} : withNumbers(body, declaration.beside);
    const frame = beside.safeParse(around);
    if (!frame.success) throw new BodyError(`outside the list: ${firstIssue(frame.error)}`);
    const common = { ...pick(fixed, table.fixed), ...readBeside(frame.data) };
    const rows = new Map<string, Row>();
    const rejected: Rejected[] = [];
    const repeated: Values[] = [];
    let rejectedCount = 0;
    let implausibleCount = 0;
    const seen = new Map<string, Values>();
    // Null can mean an empty list, but does not prove that all rows were deleted.
    let unidentified = listed === null ? 1 : 0;
    observe?.learn(items);
    for (const raw of items) {
      const shaped = declaration.normalize === undefined ? raw : declaration.normalize(raw);
      const key = hasContentKey(table) ? contentKey(table, raw, common, repeats) : readKey(shaped, common);
      const keyText = JSON.stringify(key);
      if (key === null) unidentified += 1;
      else if (!seen.has(keyText)) seen.set(keyText, key);
      else if (repeated.length < REPEATED_MAX) repeated.push(key);
      const read = readRow({ raw, shaped, key, common }, options);
      if (!('reason' in read)) {
        rows.set(keyText, read);
        continue;
      }
      rejectedCount += 1;
      if (read.implausible !== undefined) implausibleCount += 1;
      if (rejected.length < REJECTED_MAX) rejected.push({ table: table.name, ...read, item: writable(raw) });
    }
    checkUnique(resource, declaration.fields, fixed, items);
    observeOrder?.([...rows.values()].map(({ values }) => values));
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

// An item as it was sent and in its declared form, its key, and the values that all rows of the page share.
interface ListedItem {
  readonly raw: unknown;
  readonly shaped: unknown;
  readonly key: Values | null;
  readonly common: Values;
}

type Refused = Pick<Rejected, 'reason' | 'implausible'>;

// Compiles the reader of one item, which returns the item's row or why it is rejected.
function rowReader(
  { catalogue, resource, forms }: ReaderParts,
  table: ResourceTable,
  { readItem, observe }: { readonly readItem: (item: Item) => Item; readonly observe: FormObserver | null },
) {
  const { declaration } = table;
  const sentFields = Object.fromEntries(Object.entries(declaration.fields).filter(([, field]) => !isDerived(field)));
  const item = z.looseObject(sentFields);
  const known = new Set([...Object.keys(declaration.fields), ...listFields(catalogue, resource, table)]);
  if (declaration.at === 'body') for (const name of frameOf(resource)) known.add(name);
  const readExtra = undeclaredReader(known, declaration.fields);
  const readChildren = table.children.map((child) => childReader(resource.name, table, child, forms));
  const readSent = sentReader(resource, table);
  const hashOf = createHasher(table);

  return ({ raw, shaped, key, common }: ListedItem, { bytes, isDamaged, check }: ReadOptions): Row | Refused => {
    if (!isRecord(shaped)) return { reason: 'the item is not an object' };
    const exact = item.safeParse(shaped);
    // Convert exact numbers and numerals in declared fields to doubles, then validate again.
    const plain = exact.success ? shaped : withNumbers(shaped, sentFields);
    const parsed = plain === shaped ? exact : item.safeParse(plain);
    if (!parsed.success) return { reason: firstIssue(parsed.error) };
    if (key === null) return { reason: `the key (${declaration.key.join(', ')}) is missing` };
    // Serialize items again only if the page is long or damaged.
    const unfit = bytes > ITEM_CHARACTERS_MAX || isDamaged ? unfitness(raw, isDamaged) : null;
    if (unfit !== null) return { reason: unfit };
    const values = Object.assign(readItem(parsed.data), common, hasContentKey(table) ? key : null);
    const refusal = check?.(table, values) ?? null;
    if (refusal !== null) return refusal;
    const children = readChildren.map((read) => read(parsed.data, values, shaped));
    observe?.read(raw);
    // An inferred declaration has no other fields than the item.
    const extra = resource.generic === true ? null : sortMembers(readExtra(raw));
    const sent = readSent(raw);
    const text = sent === undefined ? null : toExactJson(sent);
    return { values, key, extra, children, item: text, hash: hashOf(values, sent) };
  };
}

// Items of unknown form have no declared fields. A detail repeats the fields of its list.
function formObserver({ catalogue, resource, forms }: ReaderParts, table: ResourceTable): FormObserver | null {
  const { declaration, name } = table;
  if (declaration.normalize !== undefined) return null;
  const list = resource.change.kind === 'detail' ? catalogue.get(resource.change.of).derived : [];
  const repeated = list.find((candidate) => candidate.name === name)?.declaration.fields;
  const fields = { ...repeated, ...declaration.fields };
  const isComputed = resource.computes !== undefined;
  return createFormObserver({ resource: resource.name, place: name, fields, forms, isComputed });
}

// Returns undefined if the declaration already has a field with the item. Lists within a body have their own tables.
function sentReader(resource: Resource, { declaration }: ResourceTable): (item: unknown) => unknown {
  if (declaration.whole !== undefined) return () => undefined;
  if (declaration.at !== 'body' || resource.derived.length === 1) return (item) => item;
  const frame = frameOf(resource);
  return (body) =>
    isRecord(body) ? Object.fromEntries(Object.entries(body).filter(([name]) => !frame.has(name))) : body;
}

// Fields of the list that a detail repeats. They are known fields, but the list resource stores them.
function listFields(catalogue: Catalogue, resource: Resource, table: ResourceTable): string[] {
  if (resource.change.kind !== 'detail') return [];
  const list = catalogue.get(resource.change.of).derived.find((candidate) => candidate.name === table.name);
  return Object.keys(list?.declaration.fields ?? {});
}

// Returns the reader of an item's fields other than `known`, and of undeclared fields of its nested objects. It returns null if there are
// none.
function undeclaredReader(
  known: ReadonlySet<string>,
  fields: Fields,
): (item: unknown) => Record<string, unknown> | null {
  const groups = new Map<string, (item: unknown) => Record<string, unknown> | null>();
  for (const [name, field] of Object.entries(fields)) {
    const meta = metaOf(field);
    if (meta.as === 'group') groups.set(name, undeclaredReader(new Set(Object.keys(meta.fields)), meta.fields));
  }
  return (item) => {
    if (!isRecord(item)) return null;
    let extra: Record<string, unknown> | null = null;
    for (const name of Object.keys(item)) {
      const value = known.has(name) ? groups.get(name)?.(item[name]) : item[name];
      if (value === undefined || (value === null && known.has(name))) continue;
      extra ??= {};
      // Define, do not assign: upstream may name a field __proto__.
      Object.defineProperty(extra, name, { value, enumerable: true, configurable: true, writable: true });
    }
    return extra;
  };
}

// Readers are compiled once per table, because a page has thousands of values.

type Item = Record<string, unknown>;

// Members of JSON columns are sorted, because upstream may reorder them, except in the column with the item.
function valueReader(columns: readonly Column[], itemColumn: string | null = null): (item: Item) => Item {
  const steps = columns.flatMap(({ name, kind, source }) => {
    if (source.from !== 'item' && source.from !== 'body') return [];
    const convert = kind === 'json' && name !== itemColumn ? sortMembers : converterOf(kind);
    return [{ name, path: source.path, convert }];
  });
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

// Equal rows of a list are numbered, so that none is lost: the second row with the same identity ends in -2.
function contentKey(table: ResourceTable, item: unknown, common: Values, repeats: Repeats): Values {
  if (table.declaration.at === 'body') return { ...pick(common, table.fixed), [CONTENT_KEY]: ONLY_OBJECT };
  const { identity = [] } = table.declaration;
  const own = identity.map((name) => (isRecord(item) && Object.hasOwn(item, name) ? item[name] : null) ?? null);
  const isIdentified = own.length > 0 && !own.includes(null);
  const text = isIdentified ? `identity ${toCanonicalJson(own)}` : toCanonicalJson(item);
  const content = createHash('sha256').update(text).digest('hex').slice(0, 32);
  const number = (repeats.get(content) ?? 0) + 1;
  repeats.set(content, number);
  return { ...pick(common, table.fixed), [CONTENT_KEY]: number === 1 ? content : `${content}-${number}` };
}

function childReader(
  resource: string,
  table: ResourceTable,
  child: ChildTable,
  forms: ObservedForms,
): (item: Item, parent: Values, raw: Item) => ChildRows {
  const read = valueReader(child.columns);
  const readExtra = undeclaredReader(new Set(Object.keys(child.fields)), child.fields);
  const observe = createFormObserver({ resource, place: placeOf(table, child), fields: child.fields, forms });
  const links = child.columns.flatMap(({ name, source }) =>
    source.from === 'parent' ? [{ name, from: source.column }] : [],
  );
  return (item, parent, raw) => {
    const list = item[child.field];
    const items = Array.isArray(list) ? (list as Item[]) : [];
    const rawItems = Array.isArray(raw[child.field]) ? (raw[child.field] as Item[]) : [];
    observe.learn(rawItems);
    const inherited: Item = {};
    for (const { name, from } of links) inherited[name] = parent[from];
    const rows = items.map((entry, ordinal) => {
      const values = read(entry);
      values['ordinal'] = ordinal;
      observe.read(rawItems[ordinal]);
      return { values, extra: sortMembers(readExtra(entry)) };
    });
    return { table: child, inherited, rows };
  };
}

// The names of the columns are hashed too, so that rows get the values of new columns. Columns set by the request belong to the key. The
// derived columns of an item of unknown form change with upstream's items, and its hash must not.
function createHasher(table: ResourceTable) {
  const { name, columns } = table;
  const itemColumn = wholeColumnOf(table);
  const prefix = [name, ...(itemColumn === null ? columns.map((column) => column.name) : [])].join();
  const beside = columns.filter(({ source }) => source.from === 'body').map((column) => column.name);
  return (values: Values, sent: unknown): string =>
    createHash('sha256')
      .update(prefix)
      .update(JSON.stringify(beside.map((column) => values[column])))
      .update(toCanonicalJson(sent ?? values[itemColumn ?? ''] ?? null))
      .digest('hex')
      .slice(0, 16);
}

// Returns the column of the field with the item; null if the declaration has none.
function wholeColumnOf({ declaration: { whole, fields } }: ResourceTable): string | null {
  return whole === undefined ? null : columnOf(fields, whole);
}

// A rejected item is stored unchanged; of a long item, only the beginning of its JSON text.
function writable(item: unknown): unknown {
  const text = toExactJson(item);
  return text.length > REJECTED_CHARACTERS_MAX ? text.slice(0, REJECTED_CHARACTERS_MAX) : item;
}

// Reason to reject an item that has the declared form, or null.
function unfitness(item: unknown, isDamaged: boolean): string | null {
  const text = JSON.stringify(item);
  if (text.length > ITEM_CHARACTERS_MAX) {
    return `the item has ${text.length} characters of JSON; allowed: up to ${ITEM_CHARACTERS_MAX}`;
  }
  return isDamaged && text.includes('\ufffd') ? 'the item is not UTF-8' : null;
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

/** Upstream ignored a parameter. */
export class IgnoredParameterError extends BodyError {
  override readonly retryable = false;
}

function pick(values: Values, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, values[name] ?? null]));
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  const path = issue?.path.join('.') ?? '';
  return path === '' ? (issue?.message ?? 'malformed') : `${path}: ${issue?.message ?? 'malformed'}`;
}
