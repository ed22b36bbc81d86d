import type { Conventions, Rounding, ShareForm } from './conventions.ts';

/** How a set of answers speaks of one entity, the brand or a competitor; counts, so that sums of tallies are exact. */
export interface Tally {
  /** Answers in the set. */
  readonly responses: number;
  /** Answers that mention the entity. */
  readonly mentions: number;
  /** Mentions that have a position, and the sum of their positions. */
  readonly positions: { readonly count: number; readonly sum: number };
  /** Mentions by sentiment label. */
  readonly labels: Readonly<Record<string, number>>;
}

/** Part of a whole; a share of nothing is what the conventions say. */
export function share(conventions: Conventions, form: ShareForm, part: number, whole: number): number | null {
  return round(form, exactShare(conventions, form, part, whole));
}

/** Mean position over the mentions that have one; a mean of nothing is what the conventions say. */
export function avgPosition(conventions: Conventions, { positions }: Tally): number | null {
  if (positions.count === 0) return conventions.emptyMean;
  return round(conventions.avgPosition, positions.sum / positions.count);
}

/** Mean worth of the labels over the mentions that have one of known worth; of nothing, what the conventions say. */
export function sentiment(conventions: Conventions, { labels }: Tally): number | null {
  let count = 0;
  let sum = 0;
  for (const [label, times] of Object.entries(labels)) {
    const worth = Object.hasOwn(conventions.labels, label) ? conventions.labels[label] : undefined;
    if (worth === undefined) continue;
    count += times;
    sum += times * worth;
  }
  return count === 0 ? conventions.emptyMean : round(conventions.sentiment, sum / count);
}

/** Visibility now against that of the preceding range; what the conventions say when that had no answers. */
export function visibilityChange(conventions: Conventions, now: Tally, before: Tally): number | null {
  if (before.responses === 0 && conventions.emptyChange !== 'visibility') return conventions.emptyChange;
  const form = conventions.visibilityChange;
  const visibilityOf = (tally: Tally): number => {
    const exact = exactShare(conventions, form, tally.mentions, tally.responses);
    return (form.of === 'rounded' ? round(conventions.visibility, exact) : exact) ?? 0;
  };
  const earlier = visibilityOf(before);
  const difference = visibilityOf(now) - earlier;
  if (form.as === 'difference') return round(form, difference);
  return earlier === 0 ? null : round(form, (difference / earlier) * form.whole);
}

/** A number with the digits that the rounding leaves it. */
export function round({ decimals, mode }: Rounding, value: number | null): number | null {
  if (value === null || decimals === null) return value;
  const factor = 10 ** decimals;
  const rounded = toWhole(value, decimals, mode) / factor;
  return rounded === 0 ? 0 : rounded;
}

function exactShare({ emptyShare }: Conventions, { whole }: ShareForm, part: number, of: number): number | null {
  return of === 0 ? emptyShare : (part / of) * whole;
}

function toWhole(value: number, decimals: number, mode: Rounding['mode']): number {
  const scaled = value * 10 ** decimals;
  switch (mode) {
    case 'half-away':
      return halfAway(scaled);
    case 'half-up':
      return Math.round(scaled);
    case 'half-even':
      return isHalf(scaled) ? 2 * Math.round(scaled / 2) : Math.round(scaled);
    case 'decimal-half-away':
      // A double is off by a part in 10^16, a share or mean that is no half by far more.
      return halfAway(isNearHalf(scaled) ? Math.sign(scaled) * (Math.floor(Math.abs(scaled)) + 0.5) : scaled);
    case 'binary-half-away':
      return isNearHalf(scaled) ? Math.round(Number(value.toFixed(decimals)) * 10 ** decimals) : Math.round(scaled);
    case 'binary-half-even': {
      const exactlyHalf =
        isHalf(scaled) && /^50*$/.test(value.toFixed(DIGITS_MAX).split('.')[1]?.slice(decimals) ?? '');
      return toWhole(value, decimals, exactlyHalf ? 'half-even' : 'binary-half-away');
    }
    case 'down':
      return Math.trunc(scaled);
  }
}

/** Digits after the point that a double can be written with. */
const DIGITS_MAX = 100;
const NEAR = 1e-9;

function halfAway(scaled: number): number {
  return Math.sign(scaled) * Math.round(Math.abs(scaled));
}

function isHalf(scaled: number): boolean {
  return Math.abs(scaled) % 1 === 0.5;
}

function isNearHalf(scaled: number): boolean {
  return Math.abs((Math.abs(scaled) % 1) - 0.5) < NEAR * Math.max(1, Math.abs(scaled));
}
