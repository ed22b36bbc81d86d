import { SightlineError } from './errors.ts';

/** Items that an error lists; the others are counted. */
const LISTED_MAX = 8;
/** Like `LISTED_MAX`, for items with a name only, which are shorter. */
const NAMES_LISTED_MAX = 40;
/** Shortest beginning of an id that selects it. */
const PREFIX_CHARACTERS_MIN = 4;
/** Characters of an id that errors show. */
const SHORT_CHARACTERS = 8;
/** Characters of a name that errors show. */
const NAME_CHARACTERS_MAX = 60;
/** Characters of a given text that errors show. */
const TEXT_CHARACTERS_MAX = 80;
/** Names that are compared with a text to suggest the nearest one. */
const COMPARED_MAX = 2_000;

/** Something that users select by its id or its name. */
export interface Named {
  readonly id: string;
  /** Null if it has only an id. */
  readonly name: string | null;
}

/**
 * Finds the item that a text means: its id, its name, the name in other letter case, or the beginning of the id (at least 4
 * characters) or of the name, if only one item begins with it. `noun` names the kind of item in errors.
 *
 * @throws `usage` with the nearest names if there is none or more than one.
 * @example
 * chooseNamed('brand', 'acme', [{ id: '0199ab12-…', name: 'Acme' }]).id
 */
export function chooseNamed<T extends Named>(noun: string, given: string, known: readonly T[], hint?: string): T {
  const text = given.trim().toLowerCase();
  const matches: ((item: T) => boolean)[] = [
    ({ id }) => id.toLowerCase() === text,
    ({ name }) => name === given,
    ({ name }) => name?.toLowerCase() === text,
    ({ id, name }) =>
      (text.length >= PREFIX_CHARACTERS_MIN && id.toLowerCase().startsWith(text)) ||
      (text !== '' && name?.toLowerCase().startsWith(text) === true),
  ];
  for (const isMatch of matches) {
    const found = known.filter(isMatch);
    if (found.length === 1) return found[0] as T;
    if (found.length > 1) {
      const message = `${noun} ${quoted(given)} is ambiguous; it matches ${listedNames(found)}`;
      const hint = known.every(({ name: of }) => of === null)
        ? 'Give more characters.'
        : `Give the ID of the ${noun}, or more characters.`;
      throw new SightlineError('usage', message, { hint });
    }
  }
  // The first word selects an item as its beginning.
  const names = known.flatMap(({ id, name }) => [id, ...(name === null ? [] : [name, name.split(' ')[0] as string])]);
  const message = `unknown ${noun} ${quoted(given)}; allowed: ${listedNames(known)}${suggestion(given, names)}`;
  throw new SightlineError('usage', message, hint === undefined ? {} : { hint });
}

/**
 * Finds the name that a text means: the name itself, in any letter case, or its beginning (at least 4 characters).
 *
 * @throws `usage` with the nearest name if there is none or more than one.
 */
export function chooseName(noun: string, given: string, names: readonly string[], hint?: string): string {
  const items = names.map((id) => ({ id, name: null }));
  return chooseNamed(noun, given, items, hint).id;
}

/** The end of an error about an unknown name, `; did you mean "acme"?`; empty if no name is similar. */
export function suggestion(given: string, names: readonly string[]): string {
  const near = nearestName(given, names);
  return near === null ? '' : `; did you mean ${JSON.stringify(near)}?`;
}

/** A text in quotes for an error, at most 80 characters of it. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > TEXT_CHARACTERS_MAX ? `${text.slice(0, TEXT_CHARACTERS_MAX - 1)}…` : text);
}

/** Lists items for an error, by their names and the beginnings of their ids; the names are shortened to one line. */
export function listedNames(items: readonly Named[]): string {
  if (items.length === 0) return 'none';
  const most = items.every(({ name }) => name === null) ? NAMES_LISTED_MAX : LISTED_MAX;
  const more = items.length > most ? ` and ${items.length - most} more` : '';
  return `${items.slice(0, most).map(shownName).join(', ')}${more}`;
}

function shownName({ id, name }: Named): string {
  if (name === null) return id;
  const line = name.replaceAll(/\s+/g, ' ');
  const shown = line.length > NAME_CHARACTERS_MAX ? `${line.slice(0, NAME_CHARACTERS_MAX - 1)}…` : line;
  return `${shown} (${id.slice(0, SHORT_CHARACTERS)})`;
}

/**
 * Returns the name that differs least from a text, or null if none is similar: at most a third of its characters, and at least
 * one, may be missing, added, replaced or swapped with the next (optimal string alignment distance). The work is bounded, because
 * anybody can send a text: a text of more than 60 characters has no nearest name, and only the first 2,000 names are compared.
 */
export function nearestName(given: string, names: readonly string[]): string | null {
  if (given.length > NAME_CHARACTERS_MAX) return null;
  const text = given.toLowerCase();
  let best: { readonly name: string; readonly distance: number } | null = null;
  for (const name of names.slice(0, COMPARED_MAX)) {
    const allowed = Math.max(1, Math.floor(name.length / 3));
    const most = Math.min(allowed, best === null ? Infinity : best.distance - 1);
    const distance = distanceOf(text, name.toLowerCase(), most);
    if (distance <= most) best = { name, distance };
  }
  return best?.name ?? null;
}

// Returns the distance if it is at most `most`, otherwise a larger number. Computes only the `most` cells on each side of the diagonal;
// all others are larger.
function distanceOf(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return Infinity;
  let earlier: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = new Array<number>(b.length + 1).fill(Infinity);
    row[0] = i;
    for (let j = Math.max(1, i - most); j <= Math.min(b.length, i + most); j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const [above = Infinity, left = Infinity, corner = Infinity] = [last[j], row[j - 1], last[j - 1]];
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (earlier[j - 2] ?? Infinity) + 1 : Infinity;
      row[j] = Math.min(above + 1, left + 1, corner + cost, swapped);
    }
    // No later row has less than the least of two rows.
    if (Math.min(...row) > most && Math.min(...last) > most) return Infinity;
    [earlier, last] = [last, row];
  }
  return last[b.length] ?? Infinity;
}
