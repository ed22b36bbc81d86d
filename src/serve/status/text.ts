import { hideKeys } from '../../base/errors.ts';

/** What is told of a text: names and reasons are shorter. */
const CHARACTERS_MAX = 300;

/** Characters that turn the direction of what stands around them, and those that no text has. */
const UNSEEN = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** A text from anywhere as a page shows it: without keys, of bounded length, and with no say over the text around it. */
export function toShown(text: string, charactersMax = CHARACTERS_MAX): string {
  // Of a text that is far too long only the beginning is looked through; no key is cut in two by it.
  const shown = hideKeys(text.slice(0, 4 * charactersMax))
    .replace(UNSEEN, '')
    .toWellFormed();
  const characters = shown.length <= charactersMax ? [] : [...shown];
  return characters.length <= charactersMax ? shown : `${characters.slice(0, charactersMax).join('')}…`;
}

/** A value of plain objects and arrays with all its texts as a page shows them. */
export function toShownTexts<T>(value: T): T {
  if (typeof value === 'string') return toShown(value) as T;
  if (Array.isArray(value)) return value.map(toShownTexts) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toShownTexts(part)])) as T;
}
