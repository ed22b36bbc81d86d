import { expect } from 'vitest';
import type { Catalogue } from '../../src/contract/catalogue.ts';
import type { ResultRow } from '../../src/warehouse/database.ts';

/** A query without rows, unless something is wrong. */
export interface Check {
  /** Description of the rows of the query. */
  readonly what: string;
  readonly sql: string;
}

/** Fails with the number of rows of each query that has any. All queries are one statement. */
export async function expectNone(
  checks: readonly Check[],
  query: (sql: string) => Promise<readonly ResultRow[]>,
): Promise<void> {
  const counts = checks.map(
    ({ sql }, index) => `SELECT ${index} AS check, count(*) AS n FROM (${sql}) HAVING count(*) > 0`,
  );
  const found = await query(counts.join(' UNION ALL '));
  expect(found.map(({ check, n }) => `${n} ${checks[Number(check)]?.what}`)).toEqual([]);
}

/**
 * Returns checks of every history: the versions of a row have no gaps or overlaps, except while the row was deleted, and the last
 * version equals the row in its table.
 */
export function historyChecks({ histories }: Catalogue): Check[] {
  return histories.flatMap(({ name, of, kept, rowKey, isSparse }) => {
    const columns = kept.map((column) => `"${column.name}"`).join(', ');
    const same = rowKey.map((column) => `h."${column}" IS NOT DISTINCT FROM t."${column}"`).join(' AND ');
    const versioned = isSparse ? `AND EXISTS (SELECT 1 FROM "${name}" h WHERE ${same})` : '';
    const unpaired = `SELECT ${columns} FROM (
        SELECT ${columns}, 1 AS _sign FROM "${of}" t WHERE _deleted_at IS NULL ${versioned}
        UNION ALL SELECT ${columns}, -1 FROM "${name}" WHERE valid_to IS NULL
      ) GROUP BY ALL HAVING sum(_sign) <> 0`;
    const keys = rowKey.map((column) => `"${column}"`).join(', ');
    const steps = `(SELECT change, valid_from, valid_to, lead(valid_from) OVER later AS _next_from, lead(change) OVER later AS _next,
      lag(change) OVER later AS _previous FROM "${name}" WINDOW later AS (PARTITION BY ${keys || '1'} ORDER BY valid_from))`;
    const broken = `SELECT * FROM ${steps} WHERE NOT coalesce(CASE
        WHEN valid_from IS NULL OR (_next_from IS NOT NULL AND _next_from <= valid_from) THEN false
        WHEN (change = 'inserted') <> (_previous IS NULL) OR (change = 'restored') <> (_previous IS NOT DISTINCT FROM 'deleted')
          THEN false
        WHEN change = 'deleted' THEN valid_to = valid_from
        ELSE (valid_to IS NULL AND _next IS NULL) OR (valid_to > valid_from AND valid_to = _next_from) END, false)`;
    return [
      { what: `rows of ${of} without a version in ${name}, or versions without a row`, sql: unpaired },
      { what: `versions of ${name} that do not follow each other`, sql: broken },
    ];
  });
}
