import type { Conventions, Rounding, ShareForm } from '../calibration/conventions.ts';

/** Counts for one entity, the brand or a competitor, over a set of responses. All are integers, so sums are exact. */
export interface MentionCounts {
  /** Responses in the set. */
  readonly responses: number;
  /** Responses that mention the entity. */
  readonly mentions: number;
  /** Mentions that have a position, and the sum of their positions. */
  readonly positions: { readonly count: number; readonly sum: number };
  /** Mentions by sentiment label. */
  readonly labels: Readonly<Record<string, number>>;
}

/** Returns `part / whole` in the given form, or `emptyShare` if `whole` is 0. */
export function share(conventions: Conventions, form: ShareForm, part: number, whole: number): number | null {
  return round(form, exactShare(conventions, form, part, whole));
}

/** Returns a share of voice, or `emptyVoice` without mentions. */
export function voiceShare(conventions: Conventions, part: number, whole: number): number | null {
  if (whole === 0) return emptyVoiceOf(conventions);
  return share(conventions, conventions.shareOfVoice, part, whole);
}

/** Returns the share of voice of a range without mentions. */
export function emptyVoiceOf({ emptyVoice, emptyShare }: Pick<Conventions, 'emptyVoice' | 'emptyShare'>): 0 | null {
  return emptyVoice === 'share' ? emptyShare : emptyVoice;
}

/** Returns a share of all sessions of a site, or `emptySite` without sessions. */
export function siteShare(conventions: Conventions, part: number, whole: number): number | null {
  if (whole === 0 && conventions.emptySite !== 'share') return conventions.emptySite;
  return share(conventions, conventions.shareOfSite, part, whole);
}

/** Returns the mean sentiment without mentions. */
export function emptySentimentOf(conventions: Pick<Conventions, 'emptySentiment' | 'emptyMean'>): 0 | null {
  return conventions.emptySentiment === 'mean' ? conventions.emptyMean : conventions.emptySentiment;
}

/** Returns the mean position, or `emptyMean` if no mention has a position. */
export function avgPosition(conventions: Conventions, { positions }: MentionCounts): number | null {
  if (positions.count === 0) return conventions.emptyMean;
  return round(conventions.avgPosition, positions.sum / positions.count);
}

/** Returns the mean worth of the labels over all mentions with a label in `labels`, or `emptySentiment` without any. */
export function sentiment(conventions: Conventions, { labels }: MentionCounts): number | null {
  let count = 0;
  let sum = 0;
  const { labels: worths } = conventions;
  for (const label of Object.keys(worths)) {
    const times = Object.hasOwn(labels, label) ? (labels[label] ?? 0) : 0;
    count += times;
    sum += times * (worths[label] ?? 0);
  }
  return count === 0 ? emptySentimentOf(conventions) : round(conventions.sentiment, sum / count);
}

/**
 * Returns the change of visibility since the preceding range, or the `emptyChange` convention if that range has no
 * responses, or the `changeToEmpty` convention if there are no responses now.
 */
export function visibilityChange(conventions: Conventions, now: MentionCounts, before: MentionCounts): number | null {
  const toEmpty = now.responses === 0 ? conventions.changeToEmpty : 'computed';
  if (toEmpty.startsWith('always')) return toEmpty === 'alwaysNull' ? null : 0;
  if (before.responses === 0 && conventions.emptyChange !== 'visibility') return conventions.emptyChange;
  if (toEmpty !== 'computed') return toEmpty === 'null' ? null : 0;
  const form = conventions.visibilityChange;
  const visibilityOf = (tally: MentionCounts): number => {
    const exact = exactShare(conventions, form, tally.mentions, tally.responses);
    return (form.of === 'rounded' ? round(conventions.visibility, exact) : exact) ?? 0;
  };
  const earlier = visibilityOf(before);
  const difference = visibilityOf(now) - earlier;
  if (form.as === 'difference') return round(form, difference);
  return earlier === 0 ? changeFromZero(conventions) : round(form, (difference / earlier) * form.whole);
}

function changeFromZero({ changeFromZero: value, visibilityChange: { whole } }: Conventions): number | null {
  return { null: null, zero: 0, whole }[value];
}

/** Rounds a number. Returns it unchanged if it is null or `decimals` is null. */
export function round({ decimals, mode }: Rounding, value: number | null): number | null {
  if (value === null || decimals === null) return value;
  const factor = 10 ** decimals;
  const rounded = toWhole(value, decimals, mode) / factor;
  return rounded === 0 ? 0 : rounded;
}

function exactShare(conventions: Conventions, { whole }: ShareForm, part: number, of: number): number | null {
  return of === 0 ? conventions.emptyShare : (part / of) * whole;
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
      // Doubles are exact to about 1 part in 10^16. A share or mean that is not a half differs from one by far more.
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

/** Maximum argument of `toFixed`. */
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
