/** A place in the text of the editor. */
export interface ErrorPlace {
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** Characters from the beginning of the text. */
  readonly from: number;
  readonly to: number;
}

const QUOTE = /LINE (\d+): (.*)\n( *)\^/;
const CUT = '...';

/**
 * Returns the place that an error of DuckDB marks with `^` below a quoted line; null if it marks none. DuckDB counts lines from the
 * beginning of a statement and cuts long lines, so the quoted text decides.
 */
export function placeOf(message: string, sql: string): ErrorPlace | null {
  const match = QUOTE.exec(message);
  if (match === null) return null;
  const [, number = '1', excerpt = '', blank = ''] = match;
  const prefix = `LINE ${number}: `.length;
  const isCutBefore = excerpt.startsWith(CUT);
  const text = excerpt.slice(isCutBefore ? CUT.length : 0).replace(/\.\.\.$/, '');
  const inText = blank.length - prefix - (isCutBefore ? CUT.length : 0);
  const lines = sql.split('\n');
  const wanted = Number(number) - 1;
  const candidates = [wanted, ...lines.keys()];
  const line = candidates.find((index) => lines[index]?.includes(text) === true);
  if (line === undefined || text === '' || inText < 0) return null;
  const column = (lines[line] ?? '').indexOf(text) + inText;
  const from = lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0) + column;
  const word = /^(?:"[^"]*"|[\w.]+|\S)/.exec(sql.slice(from))?.[0] ?? '';
  return { line: line + 1, column: column + 1, from, to: from + word.length };
}

/** Returns the message without the quoted line, which the editor marks. */
export function withoutQuote(message: string): string {
  return message.replace(/\s*LINE \d+: .*\n *\^/, '').trim();
}
