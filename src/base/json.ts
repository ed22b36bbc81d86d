/** A number that a double cannot hold, as it stood in JSON: a whole number that is rounded, or one beyond 1.8e308. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** What `JSON.stringify` writes in its place, which `toExactJson` replaces by the number. */
  toJSON(): string {
    return `${MARK}${this.text}`;
  }
}

const MARK = '\u0000n';
/** MARK as JSON writes it. */
const WRITTEN_MARK = '\\u0000n';
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** A text without a match has no number that a double cannot hold. */
const MAYBE_EXACT = /\d{16}|\d[eE]\+?\d{3}/;
const MARKED = /(?<=^|[:,[])"\\u0000n(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"(?=[,}\]]|$)/g;

/** True for a JSON object; an array or an exact number is none. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** JSON text with the keys of every object in order, so that equal values give equal text. */
export function toCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isRecord(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  );
}

/**
 * Parses JSON as `JSON.parse` does, except that a number which a double cannot hold becomes an ExactNumber.
 * @throws SyntaxError
 */
export function parseExactJson(text: string): unknown {
  if (!MAYBE_EXACT.test(text) || text.includes(WRITTEN_MARK)) return JSON.parse(text);
  return JSON.parse(markNumbers(text), (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value,
  );
}

/** Writes JSON as `JSON.stringify` does, and exact numbers as they stood. `value` must not be undefined. */
export function toExactJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(WRITTEN_MARK) ? text.replace(MARKED, '$1') : text;
}

/** The value with the nearest doubles in the place of exact numbers; a copy if it has any. */
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
    // Defined, not assigned: upstream may name a field __proto__.
    Object.defineProperty(copy, name, {
      value: copyWithDoubles(inner),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}

// Puts every number outside of texts that a double cannot hold into a marked text.
function markNumbers(text: string): string {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const start = quote === -1 ? text.length : quote;
    parts.push(
      text.slice(at, start).replace(NUMBER, (token) => (isDouble(token) ? token : `"${WRITTEN_MARK}${token}"`)),
    );
    at = quote === -1 ? text.length : endOfText(text, quote);
    parts.push(text.slice(start, at));
  }
  return parts.join('');
}

function isDouble(token: string): boolean {
  const value = Number(token);
  return Number.isFinite(value) && (!/^-?\d+$/.test(token) || String(value) === token || Number.isSafeInteger(value));
}

// Index behind the quote that ends the text which begins at `start`.
function endOfText(text: string, start: number): number {
  for (let from = start + 1; ; ) {
    const end = text.indexOf('"', from);
    if (end === -1) return text.length;
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
    from = end + 1;
  }
}
