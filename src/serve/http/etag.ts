/** The strong entity tag of an answer in one format and one encoding: different bytes never share one. */
export function entityTag(version: string, format: string, encoding: string): string {
  return `"${version}-${format}-${encoding}"`;
}

/** What If-None-Match asks for: nothing, whether anything is there, or whether one of its tags is the current one. */
export function isNotModified(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header === tag) return true;
  // Weak comparison, as the header is defined: W/ makes no difference.
  for (const match of header.matchAll(/(?:^|[\s,])(?:W\/)?("[^"]*")/g)) if (match[1] === tag) return true;
  return false;
}

/** Whether If-None-Match is `*`: any answer will do, but there must be one, and a 404 is none. */
export function matchesAnything(header: string | undefined): boolean {
  return header?.trim() === '*';
}
