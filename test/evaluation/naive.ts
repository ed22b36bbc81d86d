import type { EvaluatedWorld, RawResponse } from './worlds.ts';

/** Digits of the numbers of tools. */
const DIGITS = 4;
const Z = 1.959963984540054;

/** Rounds like the tools. */
export function round(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS));
}

/** Selects responses by brand, days and a condition. */
export function select(
  { responses }: EvaluatedWorld,
  { brand, from, to }: { readonly brand?: string; readonly from: string; readonly to: string },
  condition: (response: RawResponse) => boolean = () => true,
): RawResponse[] {
  return responses.filter(
    (response) =>
      (brand === undefined || response.brand === brand) &&
      response.day >= from &&
      response.day <= to &&
      condition(response),
  );
}

/** Groups responses by one or several keys. */
export function groups(
  responses: readonly RawResponse[],
  keysOf: (response: RawResponse) => readonly (string | null | undefined)[],
): Map<string, RawResponse[]> {
  const found = new Map<string, RawResponse[]>();
  for (const response of responses) {
    for (const key of keysOf(response)) {
      if (key === null || key === undefined) continue;
      found.set(key, [...(found.get(key) ?? []), response]);
    }
  }
  return found;
}

/** Computes a number of each group. */
export function byGroup<T>(
  responses: readonly RawResponse[],
  keysOf: (response: RawResponse) => readonly (string | null | undefined)[],
  compute: (responses: readonly RawResponse[]) => T,
): Record<string, T> {
  return Object.fromEntries([...groups(responses, keysOf)].map(([key, list]) => [key, compute(list)]));
}

/** The share of responses that mention the brand. */
export function visibility(responses: readonly RawResponse[]): number {
  return round(mentions(responses) / responses.length);
}

/** The number of responses that mention the brand. */
export function mentions(responses: readonly RawResponse[]): number {
  return responses.filter(({ mentioned }) => mentioned).length;
}

/** Wilson's score interval of the share. */
export function wilson(responses: readonly RawResponse[]): [number, number] {
  const n = responses.length;
  const share = mentions(responses) / n;
  const middle = share + Z ** 2 / (2 * n);
  const half = Z * Math.sqrt((share * (1 - share)) / n + Z ** 2 / (4 * n ** 2));
  return [round((middle - half) / (1 + Z ** 2 / n)), round((middle + half) / (1 + Z ** 2 / n))];
}

/** Whether a response mentions an entity: the brand, or a competitor. */
export function names({ brand, mentioned, rivals }: RawResponse, entity: string): boolean {
  return entity === brand ? mentioned : rivals.some(({ name }) => name === entity);
}

/** The share of an entity in all mentions. */
export function voice(responses: readonly RawResponse[], entity: string): number {
  const all = responses.reduce((sum, { mentioned, rivals }) => sum + (mentioned ? 1 : 0) + rivals.length, 0);
  return round(responses.filter((response) => names(response, entity)).length / all);
}

/** Mean of the values that are not null. */
export function mean(values: readonly (number | null | undefined)[]): number {
  const present = values.filter((value): value is number => value !== null && value !== undefined);
  return round(present.reduce((sum, value) => sum + value, 0) / present.length);
}

/** Monday of the week of a day. */
export function weekOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  return new Date(date.getTime() - ((date.getUTCDay() + 6) % 7) * 86_400_000).toISOString().slice(0, 10);
}

/** Keys of an object, the one with the greatest value first; equal values by key. */
export function ranked(values: Readonly<Record<string, number>>): string[] {
  return Object.entries(values)
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([key]) => key);
}

/** The sum of a number over the items of each key. */
export function sums<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  numberOf: (item: T) => number,
): Record<string, number> {
  const found: Record<string, number> = {};
  for (const item of items) found[keyOf(item)] = (found[keyOf(item)] ?? 0) + numberOf(item);
  return found;
}

/** The number of items of each key. */
export function counts<T>(items: readonly T[], keyOf: (item: T) => string): Record<string, number> {
  return sums(items, keyOf, () => 1);
}
