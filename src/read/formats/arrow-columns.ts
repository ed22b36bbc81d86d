import { toExactJson } from '../../base/json.ts';
import type { ColumnKind } from '../../contract/fields.ts';
import { DAY_MS, toDay, toTimestamp } from '../../contract/time.ts';
import type { RowSet } from '../service.ts';

/** Storage type of a column in typed formats. */
export type Storage = 'text' | 'integer' | 'number' | 'boolean' | 'micros' | 'days';

/** A stored value: microseconds since 1970 and integers as bigint, days since 1970 as number. */
export type Stored = string | bigint | number | boolean;

/** The values of a column in row order; null if absent. */
export interface StoredColumn {
  readonly name: string;
  readonly storage: Storage;
  readonly values: readonly (Stored | null)[];
}

const storages: Readonly<Record<ColumnKind, Storage>> = {
  uuid: 'text',
  text: 'text',
  json: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  timestamp: 'micros',
  day: 'days',
};

/**
 * Converts rows to columns with unique names.
 *
 * @throws TypeError if a value does not match the type of its column
 */
export function toColumns({ columns, rows }: RowSet): StoredColumn[] {
  const all = rows();
  const names = uniqueNames(columns.map(({ name }) => name));
  return columns.map(({ kind }, index) => {
    const name = names[index] as string;
    const storage = storages[kind];
    const values = all.map((row) => {
      const value = row[index] ?? null;
      if (value === null) return null;
      const stored = convert[storage](value);
      if (stored === undefined) throw new TypeError(`column ${name} contains a value that is not a ${kind}`);
      return stored;
    });
    return { name, storage, values };
  });
}

/** Returns the names with duplicates numbered: `a`, `a_2`. */
export function uniqueNames(names: readonly string[]): string[] {
  const given = new Set(names);
  const used = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let times = 2; used.has(unique) || (times > 2 && given.has(unique)); times++) unique = `${name}_${times}`;
    used.add(unique);
    return unique;
  });
}

const convert: Readonly<Record<Storage, (value: unknown) => Stored | undefined>> = {
  // JSON can contain lone surrogates, which UTF-8 cannot represent.
  text: (value) => (typeof value === 'string' ? value : toExactJson(value)).toWellFormed(),
  integer: (value) => {
    if (typeof value === 'bigint') return value;
    return Number.isSafeInteger(value) ? BigInt(value as number) : undefined;
  },
  number: (value) => (typeof value === 'number' ? value : undefined),
  boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  micros: (value) => (typeof value === 'string' ? toMicros(value) : undefined),
  days: (value) => {
    const day = typeof value === 'string' ? toDay(value) : null;
    return day === null ? undefined : Date.parse(`${day}T00:00:00Z`) / DAY_MS;
  },
};

function toMicros(text: string): bigint | undefined {
  const moment = toTimestamp(text);
  if (moment === null) return undefined;
  const wholeSecondMs = Date.parse(`${moment.slice(0, 10)}T${moment.slice(11, 19)}Z`);
  return BigInt(wholeSecondMs) * 1000n + BigInt(moment.slice(20));
}
