/** Divides the limit from the cursor; cursors have no such character. */
const DIVIDER = '~';

/** Where a page begins, and its limit where it had to be shorter than what was asked for. */
export interface PageCursor {
  readonly limit: string | null;
  readonly cursor: string;
}

/**
 * A cursor is good only with the limit it was made for. Where pages were made shorter than asked for so that they can be
 * shown, the cursor given out carries that limit, and the next call is made as all others: with everything as it was.
 */
export function writePageCursor({ limit, cursor }: PageCursor): string {
  return limit === null ? cursor : `${limit}${DIVIDER}${cursor}`;
}

/** Reads what `writePageCursor` has written, and plain cursors. */
export function readPageCursor(text: string): PageCursor {
  const match = /^([1-9]\d{0,5})~(.+)$/s.exec(text);
  return match === null ? { limit: null, cursor: text } : { limit: match[1] as string, cursor: match[2] as string };
}
