import type { Named } from '../../../base/choose-name.ts';
import { addDays } from '../../../contract/time.ts';
import type { Plan, Resolved } from './planned-prompt.ts';

/** Days of the ranges of prompts. */
export const MONTH_DAYS = 28;
export const WEEK_DAYS = 7;

/** The days of a call. */
export type Days = { readonly from: string; readonly to: string };

/** Returns a call of a tool. */
export function call(why: string, name: string, given: Readonly<Record<string, unknown>>): Plan['calls'][number] {
  return { why, name, arguments: given };
}

/** Returns the last days up to `to`. */
export function last(to: string, days: number): Days {
  return { from: addDays(to, 1 - days), to };
}

/** Returns the brand of a prompt, its facts, and the last days up to `to`. */
export function scopeOf(
  given: Resolved['brand'],
  to: string,
  days: number,
): { readonly brand: Named; readonly facts: Plan['facts']; readonly range: Days } {
  const brand = required(given, 'brand');
  const range = last(to, days);
  return { brand, facts: [brandFact(brand), daysFact(range)], range };
}

/** States a brand with its id. */
export function brandFact(brand: Named): readonly [string, string] {
  return ['Brand', `${shown(brand)}, id ${brand.id}`];
}

/** States the days of the calls. */
export function daysFact({ from, to }: Days): readonly [string, string] {
  return ['Days', `${from} to ${to} (UTC, both included)`];
}

/** States the days before `from`. */
export function comparisonFact(from: string, days: number): readonly [string, string] {
  return ['Compared with', `${addDays(from, -days)} to ${addDays(from, -1)}`];
}

/** Limits the events of `what_changed`, which has no last day. */
export function ignoreAfter(to: string): string {
  return `The tool has no last day: ignore events after ${to}.`;
}

/** Returns a name in quotes. Names are data of the API, and cannot be read as a part of the task. */
export function shown({ name, id }: Named): string {
  return JSON.stringify(name ?? id);
}

/** Returns a resolved argument. Throws TypeError if it is null. */
export function required<T>(value: T | null, argument: string): T {
  if (value === null) throw new TypeError(`${argument} is resolved before the plan`);
  return value;
}
