/** A query that was run in this browser. */
export interface PastQuery {
  readonly sql: string;
  /** Time of the last run, ISO 8601. */
  readonly at: string;
  /** Rows of the result; null if the query failed. */
  readonly rows: number | null;
  readonly elapsedMs: number | null;
}

/** Queries, and characters of all, that are kept. */
const QUERIES_MAX = 50;
const CHARACTERS_MAX = 200_000;

/** The queries that were run in this browser, newest first. */
export interface QueryHistory {
  list(): readonly PastQuery[];
  /** Adds a query; the same query is moved to the beginning. */
  add(query: PastQuery): readonly PastQuery[];
  clear(): void;
}

/** Opens the history of a workspace. Without storage it is empty. */
export function openHistory(storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>, base: string): QueryHistory {
  const key = `sightline-sql-history${base}`;
  const list = (): readonly PastQuery[] => {
    try {
      const stored: unknown = JSON.parse(storage.getItem(key) ?? '[]');
      return Array.isArray(stored) ? stored.filter(isPastQuery) : [];
    } catch {
      return [];
    }
  };
  return {
    list,
    add(query) {
      const all = bounded([query, ...list().filter(({ sql }) => sql !== query.sql)]);
      try {
        storage.setItem(key, JSON.stringify(all));
      } catch {
        // The storage is full or forbidden.
      }
      return all;
    },
    clear() {
      try {
        storage.removeItem(key);
      } catch {
        // The storage is forbidden.
      }
    },
  };
}

function bounded(queries: readonly PastQuery[]): readonly PastQuery[] {
  let characters = 0;
  return queries.slice(0, QUERIES_MAX).filter(({ sql }) => {
    characters += sql.length;
    return characters <= CHARACTERS_MAX;
  });
}

function isPastQuery(value: unknown): value is PastQuery {
  const { sql, at } = (value ?? {}) as Partial<PastQuery>;
  return typeof sql === 'string' && typeof at === 'string';
}
