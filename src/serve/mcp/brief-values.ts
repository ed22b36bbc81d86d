import type { Service } from '../../read/service.ts';

const SIGNIFICANT_DIGITS = 4;

/** Rounds a number to 4 significant digits; other values and whole numbers stay as they are. */
export function roundNumber(value: unknown): unknown {
  return typeof value !== 'number' || Number.isInteger(value) ? value : Number(value.toPrecision(SIGNIFICANT_DIGITS));
}

/** Rounds all numbers of a value, and writes its names in snake_case, as in arguments and columns. */
export function toBriefValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toBriefValue);
  if (value === null || typeof value !== 'object') return roundNumber(value);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [toSnakeCase(name), toBriefValue(inner)]));
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns the end of the newest sync as ISO 8601, for results that are not about a range of days; null if there was none. */
export async function syncedAtOf(service: Service): Promise<string | null> {
  const { syncedAt } = await service.freshness();
  return syncedAt === null ? null : new Date(syncedAt).toISOString();
}
