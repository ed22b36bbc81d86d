import { isRecord } from '../../base/json.ts';

/** Texts up to this length are never cut: ids, names, days, addresses. */
const TEXT_CHARACTERS_MIN = 400;

/** A value cut to size. */
export interface Shortened {
  readonly value: unknown;
  /** What was cut, for people: the longest that is kept of a text, and of a nested list. */
  readonly textCharactersMax: number | null;
  readonly itemsMax: number | null;
}

/**
 * Cuts a value so that its JSON has at most `characters`: first its long texts, each at the same length and with a mark
 * of how much is missing, then its nested lists. Null when even that is not enough.
 */
export function shorten(value: unknown, characters: number): Shortened | null {
  const lengthOf = (textMax: number, itemsMax: number): number => JSON.stringify(cut(value, textMax, itemsMax)).length;
  const whole = Number.MAX_SAFE_INTEGER;
  if (lengthOf(whole, whole) <= characters) return { value, textCharactersMax: null, itemsMax: null };
  const textMax = greatest(TEXT_CHARACTERS_MIN, characters, (max) => lengthOf(max, whole) <= characters);
  if (textMax !== null) return { value: cut(value, textMax, whole), textCharactersMax: textMax, itemsMax: null };
  const itemsMax = greatest(0, characters, (max) => lengthOf(TEXT_CHARACTERS_MIN, max) <= characters);
  if (itemsMax === null) return null;
  return { value: cut(value, TEXT_CHARACTERS_MIN, itemsMax), textCharactersMax: TEXT_CHARACTERS_MIN, itemsMax };
}

function cut(value: unknown, textMax: number, itemsMax: number): unknown {
  if (typeof value === 'string') return value.length <= textMax ? value : cutText(value, textMax);
  if (Array.isArray(value)) return value.slice(0, itemsMax).map((item) => cut(item, textMax, itemsMax));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cut(inner, textMax, itemsMax)]));
}

function cutText(text: string, max: number): string {
  // Half of a character that is written as two would be no text any more.
  const kept = text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '');
  return `${kept} [… ${(text.length - kept.length).toLocaleString('en-US')} characters left out]`;
}

/** The greatest whole number from `least` to `most` that fits, or null when the least does not. */
function greatest(least: number, most: number, fits: (candidate: number) => boolean): number | null {
  if (!fits(least)) return null;
  let [good, bad] = [least, most + 1];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (fits(middle)) good = middle;
    else bad = middle;
  }
  return good;
}
