/** Any JSON value, with bigint for whole numbers that a JavaScript number cannot represent. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [name: string]: Json };

/** A JSON object. */
export type JsonObject = { readonly [name: string]: Json };

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Returns the JSON text of a value, with all digits of a bigint. */
export function toJsonText(value: Json): string {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(toJsonText).join(',')}]`;
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${toJsonText(member)}`)
    .join(',')}}`;
}

/** Parses JSON text like `JSON.parse`, but returns a bigint for whole numbers that a JavaScript number cannot represent. */
export function parseExactly(text: string): Json {
  const marked = text.replace(TOKEN, (token) =>
    /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"\\u0000${token}"` : token,
  );
  return JSON.parse(marked, (_name, value: Json) =>
    typeof value === 'string' && value.startsWith('\0') ? BigInt(value.slice(1)) : value,
  ) as Json;
}

/** Returns a text that is equal for equal values, whatever the order of their members. */
export function canonical(value: Json): string {
  if (value === null || typeof value !== 'object') return toJsonText(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  return `{${Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`)
    .join(',')}}`;
}
