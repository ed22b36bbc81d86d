import { isUtf8 } from 'node:buffer';
import { parseExactJson } from '../../base/json.ts';
import { BodyError, PageBoundError } from '../body.ts';
import type { Resource } from '../catalogue.ts';

/** Maximum nesting depth of a body; the specified bodies have 4 levels. */
export const DEPTH_MAX = 100;
/** Maximum objects and arrays in a body. The largest specified body, a year of daily rows, has about 250,000. */
export const CONTAINERS_MAX = 500_000;
/** Maximum values in a body, counted by commas. */
export const VALUES_MAX = 6_000_000;
/** Maximum items of a list that is requested without a limit and whose resource declares no `itemsMax`. */
const ITEMS_MAX = 100_000;
/** A page may have this many times the requested `limit`. */
const ITEMS_PER_LIMIT = 4;

/** A parsed JSON body. */
export interface ParsedBody {
  readonly value: unknown;
  /** True if invalid UTF-8 was replaced by U+FFFD. */
  readonly isDamaged: boolean;
}

/** Returns the maximum items of a list of the resource for the parameters of the request. */
export function itemsMaxOf(resource: Pick<Resource, 'itemsMax'>, query: Readonly<Record<string, string>>): number {
  const limit = Number(query['limit']);
  return limit > 0 ? ITEMS_PER_LIMIT * limit : (resource.itemsMax ?? ITEMS_MAX);
}

/**
 * Parses a JSON body. A byte order mark is skipped, invalid UTF-8 becomes U+FFFD, and numbers that a double cannot represent
 * become ExactNumbers.
 * @throws PageBoundError before parsing if the body exceeds the maximum depth, containers or values
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
    throw new BodyError('the body is UTF-16 or UTF-32; allowed: UTF-8');
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

// Counts containers, values and depth in one pass over the bytes. Without it, JSON.parse would need gigabytes for millions of
// empty arrays, and minutes for millions of open brackets.
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
        if (depth > DEPTH_MAX)
          throw new PageBoundError(`the body is nested too deeply; allowed: up to ${DEPTH_MAX} levels`);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
    }
  }
  if (containers > CONTAINERS_MAX) {
    throw new PageBoundError(`the body has ${containers} objects and arrays; allowed: up to ${CONTAINERS_MAX}`);
  }
  if (commas > VALUES_MAX) throw new PageBoundError(`the body has ${commas} values; allowed: up to ${VALUES_MAX}`);
}

// Index of the closing quote of the string that begins at `start`, or the length of the body.
function endOfString(bytes: Uint8Array, start: number): number {
  for (let from = start + 1; ;) {
    const end = bytes.indexOf(QUOTE, from);
    if (end === -1) return bytes.length;
    let backslashes = 0;
    while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
    from = end + 1;
  }
}
