/**
 * Returns the text of a file in UTF-8, without byte order marks at its beginning. Returns null for UTF-16, which editors and shells of
 * Windows write, and for binary files: both have bytes that are 0.
 */
export function utf8Text(bytes: Buffer): string | null {
  return bytes.includes(0) ? null : bytes.toString('utf8').replace(/^\uFEFF+/, '');
}
