/**
 * Characters that change what a terminal shows: C0 and C1 controls with ESC and DEL, except tab and the end of a line, and those
 * that override the direction of text.
 */
const UNSAFE = /(?![\t\n\r])\p{Cc}|\r(?!\n)|[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Replaces characters that a terminal would act on by visible escapes, such as `\u001b`. JSON stays the same value. Every text
 * that can reach a terminal passes through it.
 */
export function visible(text: string): string {
  return text.replace(UNSAFE, toEscape);
}

/** As `visible`, for text that is part of one line: ends of lines and tabs become blanks. */
export function visibleLine(text: string): string {
  return visible(text.replace(/[\r\n\t]+/g, ' '));
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
