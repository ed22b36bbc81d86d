/** Parameter of the SQL page with a query, and with the key of one in the storage of the tab. */
const QUERY = 'q';
const STORED = 'stored';
const STORAGE_PREFIX = 'sightline-sql-';
/** Characters of a query in an address; servers and proxies reject long addresses. */
const ADDRESS_MAX = 3_000;

/** Returns the parameters of an address that opens a query. A long one is kept in the storage of the tab. */
export function sqlParams(sql: string, storage: Pick<Storage, 'setItem'>): Readonly<Record<string, string>> {
  if (encodeURIComponent(sql).length <= ADDRESS_MAX) return { [QUERY]: sql };
  const key = keyOf(sql);
  try {
    storage.setItem(`${STORAGE_PREFIX}${key}`, sql);
  } catch {
    // The page reports that the query is missing.
  }
  return { [STORED]: key };
}

/** The query that an address opens. */
export interface LinkedSql {
  readonly sql: string | null;
  /** Whether the address names a query that this tab does not have. */
  readonly isMissing: boolean;
}

/** Reads the query of an address. */
export function readSql(search: URLSearchParams, storage: Pick<Storage, 'getItem'>): LinkedSql {
  const stored = search.get(STORED);
  if (stored === null) return { sql: search.get(QUERY), isMissing: false };
  try {
    const sql = storage.getItem(`${STORAGE_PREFIX}${stored}`);
    return { sql, isMissing: sql === null };
  } catch {
    return { sql: null, isMissing: true };
  }
}

/** Returns the parameters of an address with another query. */
export function withSql(search: URLSearchParams, sql: string, storage: Pick<Storage, 'setItem'>): URLSearchParams {
  const changed = new URLSearchParams(search);
  changed.delete(QUERY);
  changed.delete(STORED);
  for (const [name, value] of Object.entries(sqlParams(sql, storage))) changed.set(name, value);
  return changed;
}

// FNV-1a, so that equal queries have the same key.
function keyOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return `${hash.toString(36)}-${text.length}`;
}
