import { ExactNumber, isRecord, withDoubles } from '../base/json.ts';
import { type ColumnKind, type Fields, metaOf } from './fields.ts';
import { toDay, toTimestamp } from './time.ts';
import { toNumber } from './value-forms.ts';

/** Converts a value as sent to its form in the warehouse; null if it has none. */
export type ColumnConverter = (value: string) => unknown;

/** Returns the converter of a kind of columns; null if its values are stored as they are sent. */
export function converterOf(kind: ColumnKind): ColumnConverter | null {
  switch (kind) {
    case 'uuid':
      return (value) => value.toLowerCase();
    // A lone surrogate has no UTF-8 form: two keys that differ only in it would be equal in the warehouse.
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

/** Returns a value as the warehouse stores it, a numeral or an exact number as the nearest double. */
export function toStored(kind: ColumnKind, value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (typeof value !== 'string') return value;
  if (kind === 'number' || kind === 'integer') return toNumber(value);
  return converterOf(kind)?.(value) ?? value;
}

/**
 * Returns an item with doubles instead of exact numbers, and with numbers instead of the numerals in its declared fields. Returns
 * the same value if there are none, otherwise a copy.
 */
export function withNumbers(item: unknown, fields: Fields): unknown {
  const plain = withDoubles(item);
  if (!isRecord(plain)) return plain;
  const numbers = Object.entries(fields).flatMap(([field, schema]): [string, unknown][] => {
    const value = plain[field];
    const converted = numbersIn(value, schema);
    return converted === value ? [] : [[field, converted]];
  });
  return numbers.length === 0 ? plain : Object.assign({ ...plain }, Object.fromEntries(numbers));
}

function numbersIn(value: unknown, schema: Fields[string]): unknown {
  const meta = metaOf(schema);
  if (meta.as === 'group') return withNumbers(value, meta.fields);
  if (meta.as === 'child') {
    if (!Array.isArray(value)) return value;
    const items = value.map((item) => withNumbers(item, meta.child.fields));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (typeof value !== 'string' || (meta.kind !== 'number' && meta.kind !== 'integer')) return value;
  return toNumber(value) ?? value;
}
