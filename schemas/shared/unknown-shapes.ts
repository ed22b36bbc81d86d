import { isRecord } from '../../src/base/json.ts';

/** Returns the first non-empty string among the named fields, or null. For records of unknown form. */
export function firstText(item: unknown, fields: readonly string[]): string | null {
  if (!isRecord(item)) return null;
  for (const field of fields) {
    const value = item[field];
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}

/** Returns the first finite number among the named fields, or null. */
export function firstNumber(item: unknown, fields: readonly string[]): number | null {
  if (!isRecord(item)) return null;
  for (const field of fields) {
    const value = item[field];
    if (typeof value === 'number' && Number.isFinite(value)) return value;
  }
  return null;
}
