import { visibleLine } from '../../base/visible.ts';
import { terminal } from './terminal.ts';

/** Minimum width to which a column of texts is cut. */
const TEXT_WIDTH_MIN = 12;
const GAP = '  ';

/** A column of a table without borders. */
export interface LayoutColumn {
  readonly name: string;
  /** Numbers are aligned to the right and never cut. */
  readonly isNumber?: boolean;
}

/** Columns of the terminal; Infinity if the output goes to a file or another program, which gets each sentence in one line. */
export function screenWidth(): number {
  return terminal().stdout.columns ?? Number.POSITIVE_INFINITY;
}

/** Width of a text on a terminal: letters of East Asian scripts and emoji have two columns, and combining marks none. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/^[\p{M}\p{Cf}]$/u.test(character)) continue;
    const isDouble =
      /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]$/u.test(
        character,
      );
    width += isDouble ? 2 : 1;
  }
  return width;
}

/** Breaks a sentence into lines that fit the terminal. Lines after the first begin with as many spaces as `indent` is wide. */
export function wrapped(text: string, indent = '', width = screenWidth()): string {
  const rest = ' '.repeat(widthOf(indent));
  const lines: string[] = [];
  let line = indent;
  let used = 0;
  for (const word of visibleLine(text).split(' ')) {
    if (used > 0 && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line);
      line = rest;
      used = 0;
    }
    line += used === 0 ? word : ` ${word}`;
    used += 1;
  }
  return [...lines, line].join('\n');
}

/** Returns a table without borders. If it is wider than the terminal, the longest texts are cut. */
export function textTable(
  columns: readonly LayoutColumn[],
  rows: readonly (readonly string[])[],
  width = screenWidth(),
): string {
  const lines = [columns.map(({ name }) => name), ...rows].map((row) => row.map((cell) => visibleLine(cell)));
  const widths = fittedWidths(columns, lines, width);
  return lines
    .map((line) =>
      line
        .map((cell, index) => padded(cut(cell, widths[index] ?? 0), widths[index] ?? 0, columns[index]))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

/** Width of the columns of a table in which texts are cut as far as allowed. */
export function leastWidth(columns: readonly LayoutColumn[], rows: readonly (readonly string[])[]): number {
  const lines = [columns.map(({ name }) => name), ...rows];
  const widths = fittedWidths(columns, lines, 0);
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * (columns.length - 1);
}

function fittedWidths(
  columns: readonly LayoutColumn[],
  lines: readonly (readonly string[])[],
  width: number,
): readonly number[] {
  const widths = columns.map((_, index) => Math.max(0, ...lines.map((line) => widthOf(line[index] ?? ''))));
  const least = columns.map(({ name, isNumber }, index) => {
    const whole = widths[index] ?? 0;
    return isNumber === true ? whole : Math.min(whole, Math.max(TEXT_WIDTH_MIN, widthOf(name)));
  });
  let over = widths.reduce((sum, one) => sum + one, 0) + GAP.length * (columns.length - 1) - width;
  while (over > 0) {
    // The widest text that may be cut.
    const spare = widths.map((one, index) => (one > (least[index] ?? 0) ? one : 0));
    const widest = spare.indexOf(Math.max(...spare));
    if ((spare[widest] ?? 0) === 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    over -= 1;
  }
  return widths;
}

function padded(cell: string, width: number, column: LayoutColumn | undefined): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(cell)));
  return column?.isNumber === true ? `${space}${cell}` : `${cell}${space}`;
}

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let shown = '';
  for (const character of text) {
    if (widthOf(shown) + widthOf(character) > width - 1) break;
    shown += character;
  }
  return `${shown.trimEnd()}…`;
}
