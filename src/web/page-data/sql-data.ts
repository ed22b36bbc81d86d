/** A table or view that SQL can read, with its comments. */
export interface SqlTable {
  readonly schema: string;
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly about: string | null;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly about: string | null }[];
}

/** A saved query in a list. */
export interface SavedQuery {
  readonly name: string;
  /** Text of the comment at its beginning; null if it has none. */
  readonly title: string | null;
  /** Identifies the content. */
  readonly etag: string;
  readonly changedAt: string;
}

/** A saved query with its text. */
export interface SavedQueryText extends SavedQuery {
  readonly sql: string;
}
