import type { Query } from '../warehouse/database.ts';

/** Maximum number of cached results. The least recently used result is dropped first. */
const RESULTS_MAX = 200;
/** Maximum number of rows of a cached result. */
const ROWS_MAX = 2_000;

/** Keeps results of statements. A replica never changes, so its results stay valid. */
export interface RowCache {
  /** Returns a query that runs each statement once, for small lists that many requests read. */
  through(query: Query): Query;
}

/** Creates an empty record of results. Callers must not change the rows. */
export function createRowCache(): RowCache {
  const known = new Map<string, unknown[][]>();
  return {
    through:
      (query) =>
      async (sql, parameters = []) => {
        const key = JSON.stringify([sql, parameters]);
        const rows = known.get(key) ?? (await query(sql, parameters));
        if (rows.length > ROWS_MAX) return rows;
        // Inserting the result again makes it the most recently used.
        known.delete(key);
        known.set(key, rows);
        const [oldest] = known.size > RESULTS_MAX ? known.keys() : [];
        if (oldest !== undefined) known.delete(oldest);
        return rows;
      },
  };
}
