/** Escapes text for XML and HTML, in an element or an attribute. */
export function escaped(text: string): string {
  // XML cannot represent most control characters, lone surrogates, U+FFFE or U+FFFF.
  return text
    .replaceAll(/\p{Cc}|\p{Cs}|[\uFFFE\uFFFF]/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
