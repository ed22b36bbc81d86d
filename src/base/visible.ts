/**
 * Characters that a terminal interprets: C0 and C1 controls including ESC and DEL, except tab and line breaks, and overrides of
 * the text direction.
 */
const UNSAFE = /(?![\t\n\r])\p{Cc}|\r(?!\n)|[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Replaces characters that a terminal would interpret by visible escapes such as `\u001b`. Escaped JSON parses to the same
 * value. Pass every text that can reach a terminal through this function.
 */
export function visible(text: string): string {
  return text.replace(UNSAFE, toEscape);
}

/** Like `visible`, for text within one line: line breaks and tabs become spaces. */
export function visibleLine(text: string): string {
  return visible(text.replace(/[\r\n\t]+/g, ' '));
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Quotes an argument for a POSIX shell, if it needs quotes. */
export function quotedArgument(text: string): string {
  return /^[\w./@:+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
