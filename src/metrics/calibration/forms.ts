import { toCanonicalJson } from '../../base/json.ts';
import { round } from '../numbers/definitions.ts';
import { isSame } from './candidates.ts';
import { type Conventions, type Rounding, roundingModes, type ShareForm } from './conventions.ts';
import type { Candidate, Facts } from './points/point.ts';

/** A number with more decimal places than this counts as not rounded. */
export const DECIMALS_MAX = 6;
/** Fewest numbers that show the decimal places of all. */
const NUMBERS_LEAST = 20;
const ALL_DECIMALS = Array.from({ length: DECIMALS_MAX + 1 }, (_, decimals) => decimals);
/** Numbers as they are computed. */
export const UNROUNDED: Rounding = { decimals: null, mode: 'half-away' };

/** Returns the number of decimal places of a number; null if it is not rounded. */
export function decimalsOf(value: number): number | null {
  for (let decimals = 0; decimals <= DECIMALS_MAX; decimals++) {
    if (isSame(round({ decimals, mode: 'half-away' }, value), value)) return decimals;
  }
  return null;
}

/** Returns the roundings that numbers may have, coarsest first. */
export function roundingsOf(numbers: readonly number[]): Rounding[] {
  const seen = [...new Set(numbers.map(decimalsOf))];
  // Few numbers do not show how many decimal places others have.
  const usual = numbers.length < NUMBERS_LEAST ? [...ALL_DECIMALS, null] : seen;
  return usual
    .toSorted((a, b) => (a ?? Infinity) - (b ?? Infinity))
    .flatMap((decimals) => (decimals === null ? [UNROUNDED] : roundingModes.map((mode) => ({ decimals, mode }))));
}

/** Returns the forms that shares may have, coarsest first. */
export function shareFormsOf(numbers: readonly number[]): ShareForm[] {
  return roundingsOf(numbers).flatMap((rounding) => ([100, 1] as const).map((whole) => ({ ...rounding, whole })));
}

/** Returns a candidate with unrounded numbers. */
export function unrounded(candidate: Candidate, rounds: keyof Conventions): Candidate {
  return { ...candidate, [rounds]: { ...(candidate[rounds] as Rounding), ...UNROUNDED } };
}

/** Returns the facts of a candidate, computed from unrounded ones, for the subjects that upstream has. */
export function roundedFacts(exact: Facts, candidate: Candidate, rounds: keyof Conventions, theirs: Facts): Facts {
  if (exact.kind !== 'values' || theirs.kind !== 'values') return exact;
  const rounding = candidate[rounds] as Rounding;
  const values = new Map<string, unknown>();
  for (const subject of theirs.values.keys()) {
    const value = exact.values.get(subject);
    if (typeof value === 'number') values.set(subject, round(rounding, value));
  }
  return { kind: 'values', values };
}

/** Returns values without repeated ones. */
export function distinct<T>(candidates: readonly T[]): T[] {
  const kept = new Map<string, T>();
  for (const candidate of candidates) {
    const key = toCanonicalJson(candidate);
    if (!kept.has(key)) kept.set(key, candidate);
  }
  return [...kept.values()];
}

/** Describes a rounding, for notes: `1 decimal, half-away`. */
export function describeRounding({ decimals, mode }: Rounding): string {
  if (decimals === null) return 'not rounded';
  return `${decimals} ${decimals === 1 ? 'decimal' : 'decimals'}, ${mode}`;
}
