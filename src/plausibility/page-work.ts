import { isUtf8 } from 'node:buffer';
import { parseExactJson } from '../base/json.ts';
import { BodyError, PageBoundError } from '../contract/body.ts';
import type { Resource } from '../contract/catalogue.ts';

/** Levels of nested objects and arrays in a body; the specified bodies have 4. */
export const DEPTH_MAX = 100;
/** Objects and arrays in a body. The largest specified body, a year of daily rows, has about 250,000. */
export const CONTAINERS_MAX = 500_000;
/** Values in a body, counted by their separators. */
export const VALUES_MAX = 6_000_000;
/** Items of a list for which no limit was asked and whose resource declares no bound. */
const ITEMS_MAX = 100_000;
/** How many times as many items as asked for a page may have. */
const ITEMS_PER_LIMIT = 4;

/** A JSON body as it was parsed. */
export interface ParsedBody {
  readonly value: unknown;
  /** Whether bytes that are not UTF-8 were replaced by U+FFFD. */
  readonly isDamaged: boolean;
}

/** Returns how many items a list of the resource may have, given the parameters of the request. */
export function itemsMaxOf(resource: Pick<Resource, 'itemsMax'>, query: Readonly<Record<string, string>>): number {
  const limit = Number(query['limit']);
  return limit > 0 ? ITEMS_PER_LIMIT * limit : (resource.itemsMax ?? ITEMS_MAX);
}

/**
 * Parses a JSON body. A byte order mark is skipped, bytes that are not UTF-8 become U+FFFD, and numbers that a double cannot
 * hold become ExactNumbers.
 * @throws PageBoundError before parsing if the body has more depth or values than any page may have
 * @throws BodyError if it is UTF-16, UTF-32 or not JSON
 */
export function parseBody(bytes: Uint8Array): ParsedBody {
  checkEncoding(bytes);
  checkWork(bytes);
  const isDamaged = !isUtf8(bytes);
  try {
    return { value: parseExactJson(new TextDecoder().decode(bytes)), isDamaged };
  } catch (thrown) {
    throw new BodyError(`the body is not JSON${isDamaged ? ' and not UTF-8' : ''}`, { cause: thrown });
  }
}

// Text in UTF-16 or UTF-32 begins with a byte order mark or, because JSON begins with an ASCII character, has a 0 byte.
function checkEncoding(bytes: Uint8Array): void {
  const [first, second] = bytes;
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (hasMark || (bytes.length > 1 && (first === 0 || second === 0))) {
    throw new BodyError('the body is UTF-16 or UTF-32; expected UTF-8');
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

// One pass over the bytes: a parser that is given millions of empty arrays needs gigabytes, and one that is given millions of
// open brackets minutes.
function checkWork(bytes: Uint8Array): void {
  let depth = 0;
  let containers = 0;
  let commas = 0;
  for (let index = 0; index < bytes.length; index++) {
    switch (bytes[index]) {
      case QUOTE:
        index = endOfString(bytes, index);
        break;
      case COMMA:
        commas += 1;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        containers += 1;
        depth += 1;
        if (depth > DEPTH_MAX) throw new PageBoundError(`the body is nested too deeply; allowed: ${DEPTH_MAX} levels`);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
    }
  }
  if (containers > CONTAINERS_MAX) {
    throw new PageBoundError(`the body has ${containers} objects and arrays; allowed: ${CONTAINERS_MAX}`);
  }
  if (commas > VALUES_MAX) throw new PageBoundError(`the body has ${commas} values; allowed: ${VALUES_MAX}`);
}

// Index of the quote that ends the string which begins at `start`, or the end of the body.
function endOfString(bytes: Uint8Array, start: number): number {
  for (let from = start + 1; ; ) {
    const end = bytes.indexOf(QUOTE, from);
    if (end === -1) return bytes.length;
    let backslashes = 0;
    while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
    from = end + 1;
  }
}
