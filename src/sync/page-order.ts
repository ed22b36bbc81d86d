import type { TableRows } from '../contract/rows.ts';
import { UpstreamError } from '../upstream/errors.ts';

/** Cursors younger than this are assumed not to have expired. */
const CURSOR_MS_MIN = 60_000;

/** The cursor of a slice has probably expired. */
export class CursorLost extends UpstreamError {
  constructor(path: string) {
    super('bad_answer', `upstream returned an empty page for the cursor of ${path}; the cursor has probably expired`, {
      status: 200,
    });
  }
}

/** A page of a slice, as the checks of the order see it. */
interface OrderedPage {
  readonly tables: readonly TableRows[];
  /** Cursor with which the page was requested; null for the first page. */
  readonly cursor: string | null;
  /** Send time of the request, epoch milliseconds; undefined if unknown. */
  readonly sentAt: number | undefined;
}

/**
 * Creates a check of a slice's pages, called with each page in order; `from` is the cursor at which the slice resumes.
 * The check throws CursorLost for an empty page of an old cursor, and UpstreamError for a page that has the same keys as
 * the page before.
 */
export function createOrderCheck(path: string, from: string | null): (page: OrderedPage) => void {
  let askedAt = Number.POSITIVE_INFINITY;
  let keysBefore: string | null = null;
  return ({ tables, cursor, sentAt = askedAt }) => {
    // A follow-up page without items may mean an expired cursor.
    const isOld = cursor === from || sentAt - askedAt > CURSOR_MS_MIN;
    askedAt = sentAt;
    if (cursor !== null && isOld && isEmpty(tables)) throw new CursorLost(path);
    const keys = keysOf(tables);
    if (keys !== null && keys === keysBefore) {
      throw new UpstreamError('bad_answer', `upstream returned the same page again for another cursor of ${path}`, {
        status: 200,
      });
    }
    keysBefore = keys;
  };
}

// Returns the keys of a page's items, including rejected ones; null if no item has a key.
function keysOf(tables: readonly TableRows[]): string | null {
  return tables.some(({ seen }) => seen.length > 0) ? JSON.stringify(tables.map(({ seen }) => seen)) : null;
}

function isEmpty(tables: readonly TableRows[]): boolean {
  return tables.every(({ seen, unidentified }) => seen.length + unidentified === 0);
}
