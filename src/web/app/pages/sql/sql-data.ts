/** A table or view of `GET /data/sql/schema`. */
export interface SqlTable {
  readonly schema: string;
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly about: string | null;
  readonly columns: readonly SqlColumn[];
}

export interface SqlColumn {
  readonly name: string;
  readonly type: string;
  readonly about: string | null;
}

/** A question of `GET /data/sql/gallery`. */
export interface GalleryQuestion {
  readonly number: number;
  readonly question: string;
  readonly about: string;
  readonly tables: readonly string[];
  readonly sql: string;
}

/** A saved query of `GET /data/sql/saved`. */
export interface SavedQueryEntry {
  readonly name: string;
  readonly title: string | null;
  readonly etag: string;
  readonly changedAt: string;
}

/** A saved query with its text. */
export interface SavedQueryText extends SavedQueryEntry {
  readonly sql: string;
}
