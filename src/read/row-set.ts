import { isRecord, toExactJson } from '../base/json.ts';
import { type ColumnKind, type Fields, metaOf } from '../contract/fields.ts';
import { toNumber } from '../contract/value-forms.ts';
import type { RowSet } from './service.ts';

/**
 * Flattens items to a table: nested objects become columns with a dot in the name, nested arrays become JSON text. `undeclared`
 * are the names of the other fields, by default those of the items.
 */
export function toRowSet(fields: Fields, items: readonly unknown[], undeclared = namesIn(items)): RowSet {
  const declared = flatColumns(fields, []);
  const known = new Set(Object.keys(fields));
  const added = new Set(undeclared.filter((name) => !known.has(name)));
  const columns = [...declared, ...[...added].map((name) => ({ name, kind: 'json' as const, path: [name] }))];
  // Items that are not objects, such as bare slugs, become a table with one column.
  const bare = items.length > 0 && !items.some(isRecord);
  if (bare && columns.length === 0) {
    return { columns: [{ name: 'value', kind: 'json' }], rows: () => items.map((item) => [toCell('json', item)]) };
  }
  return {
    columns: columns.map(({ name, kind }) => ({ name, kind })),
    rows: () => items.map((item) => columns.map(({ kind, path }) => toCell(kind, valueAt(item, path)))),
  };
}

function namesIn(items: readonly unknown[]): string[] {
  return items.flatMap((item) => (isRecord(item) ? Object.keys(item) : []));
}

interface FlatColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly path: readonly string[];
}

function flatColumns(fields: Fields, at: readonly string[]): FlatColumn[] {
  return Object.entries(fields).flatMap(([field, schema]): FlatColumn[] => {
    const meta = metaOf(schema);
    const path = [...at, field];
    if (meta.as === 'group') return flatColumns(meta.fields, path);
    return [{ name: path.join('.'), kind: meta.as === 'child' ? 'json' : meta.kind, path }];
  });
}

function valueAt(item: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, step) => (isRecord(at) && Object.hasOwn(at, step) ? at[step] : null), item);
}

function toCell(kind: ColumnKind, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  // A table has one type per column, so numerals become numbers.
  if (kind === 'number' || kind === 'integer') return typeof value === 'string' ? toNumber(value) : value;
  if (kind === 'day') return String(value).slice(0, 10);
  if (kind !== 'json') return value;
  return typeof value === 'string' ? value : toExactJson(value);
}
