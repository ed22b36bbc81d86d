/** The JSON text of a number that a double cannot represent: an integer that would be rounded, or a number beyond 1.8e308. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Makes `JSON.stringify` write a marked string, which `toExactJson` replaces by the number. */
  toJSON(): string {
    return `${MARK}${this.text}`;
  }
}

/** Random, so that no text of upstream begins with it. */
const MARK = crypto.randomUUID();
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/**
 * JSON text without a match contains only numbers that doubles can represent. The pattern requires the character before a number,
 * because ids such as `5f3e123a` contain an exponent.
 */
const MAYBE_EXACT = /(?:^|[:,[\s])-?(?:\d{16}|\d+(?:\.\d+)?[eE]\+?\d{3})/;
const MARKED = new RegExp(`"${MARK}([^"]+)"`, 'g');

/** True for a JSON object; false for arrays and exact numbers. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** Returns JSON text with the members of every object sorted, so that equal values give equal text. `value` must come from JSON. */
export function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`;
  if (!isRecord(value)) return value instanceof ExactNumber ? value.text : JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${toCanonicalJson(value[name])}`);
  return `{${members.join(',')}}`;
}

/** Returns a value with the members of every object sorted by name. */
export function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (!isRecord(value)) return value;
  // `fromEntries` defines members, so that a field named __proto__ stays a member.
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([name, inner]) => [name, sortMembers(inner)]),
  );
}

/**
 * Parses JSON like `JSON.parse`, except that a number which a double cannot represent becomes an ExactNumber.
 * @throws SyntaxError
 * @example toExactJson(parseExactJson('9007199254740993')) === '9007199254740993'
 */
export function parseExactJson(text: string): unknown {
  if (!MAYBE_EXACT.test(text)) return JSON.parse(text);
  return JSON.parse(markNumbers(text), (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value,
  );
}

/** Writes JSON like `JSON.stringify`, with exact numbers unchanged. `value` must not be undefined. */
export function toExactJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(MARK) ? text.replace(MARKED, '$1') : text;
}

/** Replaces exact numbers by the nearest doubles. Returns the same value if there are none, otherwise a copy. */
export function withDoubles(value: unknown): unknown {
  return holdsExact(value) ? copyWithDoubles(value) : value;
}

function holdsExact(value: unknown): boolean {
  if (value instanceof ExactNumber) return true;
  if (Array.isArray(value)) return value.some(holdsExact);
  return isRecord(value) && Object.values(value).some(holdsExact);
}

function copyWithDoubles(value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(copyWithDoubles);
  if (!isRecord(value)) return value;
  const copy = {};
  for (const [name, inner] of Object.entries(value)) {
    // Define, do not assign: upstream may name a field __proto__.
    Object.defineProperty(copy, name, {
      value: copyWithDoubles(inner),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}

// Replaces every number that a double cannot represent by a marked string. Numbers inside strings are not changed.
function markNumbers(text: string): string {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    const start = quote === -1 ? text.length : quote;
    parts.push(text.slice(at, start).replace(NUMBER, (token) => (isDouble(token) ? token : `"${MARK}${token}"`)));
    at = quote === -1 ? text.length : endOfText(text, quote);
    parts.push(text.slice(start, at));
  }
  return parts.join('');
}

function isDouble(token: string): boolean {
  const value = Number(token);
  return Number.isFinite(value) && (!/^-?\d+$/.test(token) || String(value) === token || Number.isSafeInteger(value));
}

// Index after the closing quote of the string that begins at `start`.
function endOfText(text: string, start: number): number {
  for (let from = start + 1; ;) {
    const end = text.indexOf('"', from);
    if (end === -1) return text.length;
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
    from = end + 1;
  }
}

/** Returns a copy of an object with a member at a path such as `data.items`. */
export function withMember(
  object: Readonly<Record<string, unknown>>,
  path: string,
  value: unknown,
): Record<string, unknown> {
  const [first = '', ...rest] = Object.hasOwn(object, path) ? [path] : path.split('.');
  if (rest.length === 0) return { ...object, [first]: value };
  const inner = Object.hasOwn(object, first) ? object[first] : undefined;
  return { ...object, [first]: withMember(isRecord(inner) ? inner : {}, rest.join('.'), value) };
}

/**
 * Returns the member of an object at a path such as `paging.next`; undefined if there is none. A member with the complete path as its
 * name takes precedence.
 */
export function memberAt(value: unknown, path: string): unknown {
  if (isRecord(value) && Object.hasOwn(value, path)) return value[path];
  return path
    .split('.')
    .reduce<unknown>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}
