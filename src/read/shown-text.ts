import { hideKeys } from '../base/errors.ts';

/** Maximum characters of a shown text; names and reasons are shorter. */
const CHARACTERS_MAX = 300;

/** Control characters, including those that change text direction. */
const UNSEEN = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Makes any text safe to show: redacts keys, limits the length, and removes characters that affect surrounding text.
 */
export function toShown(text: string, charactersMax = CHARACTERS_MAX): string {
  // Scan only the beginning of a very long text; the margin ensures that no key is cut in two.
  const shown = hideKeys(text.slice(0, 4 * charactersMax))
    .replace(UNSEEN, '')
    .toWellFormed();
  const characters = shown.length <= charactersMax ? [] : [...shown];
  return characters.length <= charactersMax ? shown : `${characters.slice(0, charactersMax).join('')}…`;
}

/** Applies `toShown` to all texts in plain objects and arrays. */
export function toShownTexts<T>(value: T): T {
  if (typeof value === 'string') return toShown(value) as T;
  if (Array.isArray(value)) return value.map(toShownTexts) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toShownTexts(part)])) as T;
}
