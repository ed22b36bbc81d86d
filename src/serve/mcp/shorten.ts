import { isRecord } from '../../base/json.ts';
import { tokensOfJson } from './estimate-tokens.ts';

/** Texts up to this length are never cut: ids, names, days, URLs. */
const TEXT_CHARACTERS_MIN = 400;

/** Tolerance: the estimate of a single text may differ from its part of the estimate of the whole by this many tokens. */
const SLACK_TOKENS = 2;

/** A shortened value. */
export interface Shortened {
  readonly value: unknown;
  /** Number of texts that were cut. */
  readonly textsCut: number;
  /** Maximum items kept of each nested list; null if no list was cut. */
  readonly itemsMax: number | null;
}

/**
 * Shortens a value so that its JSON has at most `tokensMax` estimated tokens. First cuts long texts, starting with the last one: if a
 * value has several versions of a text, such as Markdown and HTML, the first version is cut last. Each cut text ends with the number of
 * characters left out. Then cuts nested lists. Returns null if that is not enough.
 */
export function shorten(value: unknown, tokensMax: number): Shortened | null {
  const byTexts = shortenTexts(value, tokensMax);
  if (tokensOfJson(byTexts.value) <= tokensMax) return { ...byTexts, itemsMax: null };
  const itemsMax = greatest(0, tokensMax, (max) => tokensOfJson(cutLists(byTexts.value, max)) <= tokensMax);
  return itemsMax === null ? null : { value: cutLists(byTexts.value, itemsMax), textsCut: byTexts.textsCut, itemsMax };
}

/** Cuts the long texts of a value, starting with the last one, until it fits or all are cut. */
export function shortenTexts(value: unknown, tokensMax: number): Omit<Shortened, 'itemsMax'> {
  const tooMany = tokensOfJson(value) - tokensMax;
  return tooMany <= 0 ? { value, textsCut: 0 } : cutTexts(value, tooMany);
}

function cutTexts(value: unknown, tooMany: number): { value: unknown; textsCut: number } {
  const texts: string[] = [];
  mapTexts(value, (text) => {
    if (text.length > TEXT_CHARACTERS_MIN) texts.push(text);
    return text;
  });
  const keptOf = new Map<number, number>();
  let left = tooMany;
  for (let index = texts.length - 1; index >= 0 && left > 0; index -= 1) {
    const text = texts[index] as string;
    const before = tokensOfJson(text) - SLACK_TOKENS;
    const saved = (kept: number): number => before - tokensOfJson(cutText(text, kept));
    // The text about the characters left out needs tokens too, so a cut text may have more tokens than the original.
    const kept = greatest(TEXT_CHARACTERS_MIN, text.length, (candidate) => saved(candidate) >= left);
    const used = kept ?? TEXT_CHARACTERS_MIN;
    if (saved(used) <= 0) continue;
    keptOf.set(index, used);
    left -= saved(used);
  }
  let index = -1;
  const shortened = mapTexts(value, (text) => {
    if (text.length <= TEXT_CHARACTERS_MIN) return text;
    index += 1;
    const kept = keptOf.get(index);
    return kept === undefined ? text : cutText(text, kept);
  });
  return { value: shortened, textsCut: keptOf.size };
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapTexts(inner, change)]));
}

function cutLists(value: unknown, itemsMax: number): unknown {
  if (Array.isArray(value)) return value.slice(0, itemsMax).map((item) => cutLists(item, itemsMax));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cutLists(inner, itemsMax)]));
}

function cutText(text: string, max: number): string {
  // Do not cut a surrogate pair in half.
  const kept = text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '');
  return `${kept} [… ${(text.length - kept.length).toLocaleString('en-US')} characters left out]`;
}

/** Returns the greatest whole number from `least` to `most` that fits; null if `least` does not fit. */
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
