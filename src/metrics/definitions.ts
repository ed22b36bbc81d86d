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

/** Mean position over the mentions that have one; null when none has. */
export function avgPosition(conventions: Conventions, { positions }: Tally): number | null {
  return round(conventions.avgPosition, positions.count === 0 ? null : positions.sum / positions.count);
}

/** Mean worth of the labels over the mentions that have one of known worth; null when none has. */
export function sentiment(conventions: Conventions, { labels }: Tally): number | null {
  let count = 0;
  let sum = 0;
  for (const [label, times] of Object.entries(labels)) {
    const worth = Object.hasOwn(conventions.labels, label) ? conventions.labels[label] : undefined;
    if (worth === undefined) continue;
    count += times;
    sum += times * worth;
  }
  return round(conventions.sentiment, count === 0 ? null : sum / count);
}

/** Visibility now against that of the preceding range; null when that had no answers. */
export function visibilityChange(conventions: Conventions, now: Tally, before: Tally): number | null {
  if (before.responses === 0) return null;
  const form = conventions.visibilityChange;
  const visibilityOf = (tally: Tally): number => {
    const exact = exactShare(conventions, form, tally.mentions, tally.responses);
    return (form.of === 'rounded' ? round(conventions.visibility, exact) : exact) ?? 0;
  };
  const difference = visibilityOf(now) - visibilityOf(before);
  if (form.as === 'difference') return round(form, difference);
  const earlier = visibilityOf(before);
  return earlier === 0 ? null : round(form, (difference / earlier) * form.whole);
}

/** A number with the digits that the rounding leaves it. */
export function round({ decimals, mode }: Rounding, value: number | null): number | null {
  if (value === null || decimals === null) return value;
  const factor = 10 ** decimals;
  const rounded = toWhole(value * factor, mode) / factor;
  return rounded === 0 ? 0 : rounded;
}

function exactShare({ emptyShare }: Conventions, { whole }: ShareForm, part: number, of: number): number | null {
  return of === 0 ? emptyShare : (part / of) * whole;
}

function toWhole(value: number, mode: Rounding['mode']): number {
  switch (mode) {
    case 'half-away':
      return Math.sign(value) * Math.round(Math.abs(value));
    case 'half-up':
      return Math.round(value);
    case 'half-even': {
      const floor = Math.floor(value);
      if (value - floor !== 0.5) return Math.round(value);
      return floor % 2 === 0 ? floor : floor + 1;
    }
    case 'down':
      return Math.trunc(value);
  }
}
