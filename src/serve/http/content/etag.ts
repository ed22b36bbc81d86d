/** Returns the strong entity tag of a response in one format and encoding. Different bytes never share a tag. */
export function entityTag(version: string, format: string, encoding: string): string {
  return `"${version}-${format}-${encoding}"`;
}

/** Returns whether an If-None-Match header contains the current tag. */
export function isNotModified(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header === tag) return true;
  // If-None-Match uses weak comparison, so ignore the prefix W/.
  for (const match of header.matchAll(/(?:^|[\s,])(?:W\/)?("[^"]*")/g)) if (match[1] === tag) return true;
  return false;
}

/** Returns whether If-None-Match is `*`, which matches any existing response but not a 404. */
export function matchesAnything(header: string | undefined): boolean {
  return header?.trim() === '*';
}
