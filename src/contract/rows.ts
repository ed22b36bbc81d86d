import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isRecord, toCanonicalJson } from '../base/json.ts';
import { BodyError, frameOf, itemsOf } from './body.ts';
import type { Catalogue, Resource } from './catalogue.ts';
import { type ColumnKind, type Fields, metaOf } from './fields.ts';
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
  readonly rows: readonly { readonly values: Values; readonly extra: unknown }[];
}

/** An item that could not be taken as a row. */
export interface Rejected {
  readonly table: string;
  readonly reason: string;
  readonly item: unknown;
}

/** What one answer holds for one table. */
export interface TableRows {
  readonly table: ResourceTable;
  readonly rows: readonly Row[];
  readonly rejected: readonly Rejected[];
  /** Keys of every item in the answer, rejected ones included: none of these is a deletion. */
  readonly seen: readonly Values[];
  /** How many items had no readable key, so that nothing may be concluded from what the answer lacks. */
  readonly unidentified: number;
  /** Items that repeated a key of the same answer; the last one counts. */
  readonly repeated: number;
}

/** Reads an answer of one resource into rows. */
export interface RowReader {
  /**
   * `fixed` gives the columns that the request fixes (brand, range, row mode).
   * Throws a BodyError when the body misses its rows or when upstream ignored the parameter of `each`.
   */
  read(body: unknown, fixed: Values): readonly TableRows[];
}

/** Compiles the reader of a resource; costly enough to be done once. */
export function createRowReader(catalogue: Catalogue, resource: Resource): RowReader {
  const readers = resource.derived.map((table) => tableReader(catalogue, resource, table));
  return { read: (body, fixed) => readers.map((read) => read(body, fixed)) };
}

function tableReader(catalogue: Catalogue, resource: Resource, table: ResourceTable) {
  const { declaration } = table;
  const item = z.looseObject(declaration.fields);
  const beside = z.looseObject(declaration.beside ?? {});
  const known = new Set([...Object.keys(declaration.fields), ...listFields(catalogue, resource, table)]);
  if (declaration.at === 'body') for (const name of frameOf(resource)) known.add(name);
  const scalars = table.columns.filter((column) => column.source.from === 'item');
  const besideColumns = table.columns.filter((column) => column.source.from === 'body');
  const hashPrefix = [table.name, ...table.columns.map((column) => column.name)].join();

  return (body: unknown, fixed: Values): TableRows => {
    const items = itemsOf(resource, table, body);
    const frame = beside.safeParse(besideColumns.length === 0 ? {} : body);
    if (!frame.success) throw new BodyError(`beside the list: ${firstIssue(frame.error)}`);
    const common = { ...pick(fixed, table.fixed), ...valuesOf(besideColumns, frame.data) };
    const rows = new Map<string, Row>();
    const rejected: Rejected[] = [];
    let unidentified = 0;
    const seen = new Map<string, Values>();
    for (const raw of items) {
      const shaped = declaration.normalize === undefined ? raw : declaration.normalize(raw);
      const key = keyOf(table, scalars, shaped, common);
      if (key === null) unidentified += 1;
      else seen.set(JSON.stringify(key), key);
      const parsed = item.safeParse(shaped);
      if (!parsed.success || key === null) {
        const reason = parsed.success ? `it lacks its key (${declaration.key.join(', ')})` : firstIssue(parsed.error);
        rejected.push({ table: table.name, reason, item: raw });
        continue;
      }
      const values = { ...common, ...valuesOf(scalars, parsed.data) };
      const children = table.children.map((child) => childRows(child, parsed.data, values));
      const extra = unknownFields(raw, known, declaration.fields);
      const row = { values, extra, children };
      rows.set(JSON.stringify(key), { ...row, key, hash: hashOf(hashPrefix, table, row) });
    }
    checkUnique(resource, declaration.fields, fixed, items);
    const repeated = items.length - rejected.length - rows.size;
    return { table, rows: [...rows.values()], rejected, seen: [...seen.values()], unidentified, repeated };
  };
}

// A detail repeats the fields of its list; they are known, and the list has the say about them.
function listFields(catalogue: Catalogue, resource: Resource, table: ResourceTable): string[] {
  if (resource.change.kind !== 'detail') return [];
  const list = catalogue.get(resource.change.of).derived.find((candidate) => candidate.name === table.name);
  return Object.keys(list?.declaration.fields ?? {});
}

function keyOf(table: ResourceTable, scalars: readonly Column[], item: unknown, common: Values): Values | null {
  const nullable = new Set(table.declaration.nullableKey ?? []);
  const key: Record<string, unknown> = {};
  for (const name of table.key) {
    const column = scalars.find((candidate) => candidate.name === name);
    if (column === undefined) {
      key[name] = common[name] ?? null;
      continue;
    }
    const field = column.source.from === 'item' ? (column.source.path[0] as string) : name;
    const raw = isRecord(item) ? (item[field] ?? null) : null;
    if (raw === null) {
      if (!nullable.has(field)) return null;
      key[name] = null;
      continue;
    }
    if (!(table.declaration.fields[field]?.safeParse(raw).success ?? false)) return null;
    key[name] = toValue(column.kind, raw);
  }
  return key;
}

function childRows(child: ChildTable, item: Record<string, unknown>, parent: Values): ChildRows {
  const list = item[child.field];
  const items = Array.isArray(list) ? (list as Record<string, unknown>[]) : [];
  const known = new Set(Object.keys(child.fields));
  const scalars = child.columns.filter((column) => column.source.from === 'item');
  const inherited: Record<string, unknown> = {};
  for (const { name, source } of child.columns) if (source.from === 'parent') inherited[name] = parent[source.column];
  return {
    table: child,
    rows: items.map((entry, ordinal) => ({
      values: { ...inherited, ordinal, ...valuesOf(scalars, entry) },
      extra: unknownFields(entry, known, child.fields),
    })),
  };
}

function valuesOf(columns: readonly Column[], item: Record<string, unknown>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { name, kind, source } of columns) {
    if (source.from !== 'item' && source.from !== 'body') continue;
    let value: unknown = item;
    for (const step of source.path) value = isRecord(value) ? value[step] : null;
    values[name] = toValue(kind, value ?? null);
  }
  return values;
}

function toValue(kind: ColumnKind, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  switch (kind) {
    case 'uuid':
      return value.toLowerCase();
    case 'timestamp':
      return toTimestamp(value);
    case 'day':
      return toDay(value);
    default:
      return value;
  }
}

function unknownFields(item: unknown, known: ReadonlySet<string>, fields: Fields): Record<string, unknown> | null {
  if (!isRecord(item)) return null;
  let extra: Record<string, unknown> | null = null;
  for (const [name, value] of Object.entries(item)) {
    const inner = known.has(name) ? unknownInside(fields[name], value) : value;
    if (inner === undefined) continue;
    extra ??= {};
    // Defined, not assigned: upstream may name a field __proto__.
    Object.defineProperty(extra, name, { value: inner, enumerable: true, configurable: true, writable: true });
  }
  return extra;
}

function unknownInside(field: z.ZodType | undefined, value: unknown): Record<string, unknown> | undefined {
  if (field === undefined) return undefined;
  const meta = metaOf(field);
  if (meta.as !== 'group') return undefined;
  return unknownFields(value, new Set(Object.keys(meta.fields)), meta.fields) ?? undefined;
}

// JSON columns and unknown fields are put into a canonical form first, because upstream may reorder their keys;
// all other values stand in the declared order already.
function hashOf(prefix: string, table: ResourceTable, row: Omit<Row, 'hash' | 'key'>): string {
  const content = [
    contentOf(table.columns, row.values),
    row.children.map(({ table: child, rows }) =>
      rows.map(({ values, extra }) => [contentOf(child.columns, values), canonical(extra)]),
    ),
    canonical(row.extra),
  ];
  return createHash('sha256').update(prefix).update(JSON.stringify(content)).digest('hex').slice(0, 16);
}

function contentOf(columns: readonly Column[], values: Values): unknown[] {
  const content: unknown[] = [];
  for (const { name, kind, source } of columns) {
    if (source.from === 'parent' || source.from === 'ordinal') continue;
    content.push(kind === 'json' ? canonical(values[name]) : values[name]);
  }
  return content;
}

function canonical(value: unknown): string | null {
  return value === null || value === undefined ? null : toCanonicalJson(value);
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
export class IgnoredParameterError extends BodyError {}

function pick(values: Values, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, values[name] ?? null]));
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  const path = issue?.path.join('.') ?? '';
  return path === '' ? (issue?.message ?? 'it is malformed') : `${path}: ${issue?.message ?? 'it is malformed'}`;
}
