import { isRecord } from '../src/base/json.ts';

/** The first of the named fields that holds a non-empty text, or null: for records whose form is not specified. */
export function firstText(item: unknown, fields: readonly string[]): string | null {
  if (!isRecord(item)) return null;
  for (const field of fields) {
    const value = item[field];
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}

/** The first of the named fields that holds a number, or null. */
export function firstNumber(item: unknown, fields: readonly string[]): number | null {
  if (!isRecord(item)) return null;
  for (const field of fields) {
    const value = item[field];
    if (typeof value === 'number' && Number.isFinite(value)) return value;
  }
  return null;
}
