import { expect } from 'vitest';
import type { Catalogue } from '../../src/contract/catalogue.ts';
import type { ResultRow } from '../../src/warehouse/database.ts';

/**
 * Checks every history: the versions of a row have no gaps or overlaps, except while the row was deleted, and the last
 * version equals the row in its table.
 */
export async function expectHistorySound(
  { histories }: Catalogue,
  query: (sql: string) => Promise<readonly ResultRow[]>,
): Promise<void> {
  const wrong: string[] = [];
  for (const { name, of, kept, rowKey, isSparse } of histories) {
    const check = async (what: string, sql: string): Promise<void> => {
      const rows = await query(sql);
      if (rows.length > 0) wrong.push(`${name}: ${rows.length} ${what}`);
    };
    const columns = kept.map((column) => `"${column.name}"`).join(', ');
    const same = rowKey.map((column) => `h."${column}" IS NOT DISTINCT FROM t."${column}"`).join(' AND ');
    const versioned = isSparse ? `AND EXISTS (SELECT 1 FROM "${name}" h WHERE ${same})` : '';
    await check(
      'rows without a version or versions without a row',
      `SELECT ${columns} FROM (
         SELECT ${columns}, 1 AS _sign FROM "${of}" t WHERE _deleted_at IS NULL ${versioned}
         UNION ALL SELECT ${columns}, -1 FROM "${name}" WHERE valid_to IS NULL
       ) GROUP BY ALL HAVING sum(_sign) <> 0`,
    );
    const keys = rowKey.map((column) => `"${column}"`).join(', ');
    const steps = `(SELECT change, valid_from, valid_to, lead(valid_from) OVER later AS _next_from, lead(change) OVER later AS _next,
      lag(change) OVER later AS _previous FROM "${name}" WINDOW later AS (PARTITION BY ${keys || '1'} ORDER BY valid_from))`;
    await check(
      'versions that do not follow each other',
      `SELECT * FROM ${steps} WHERE NOT coalesce(CASE
        WHEN valid_from IS NULL OR (_next_from IS NOT NULL AND _next_from <= valid_from) THEN false
        WHEN (change = 'inserted') <> (_previous IS NULL) OR (change = 'restored') <> (_previous IS NOT DISTINCT FROM 'deleted')
          THEN false
        WHEN change = 'deleted' THEN valid_to = valid_from
        ELSE (valid_to IS NULL AND _next IS NULL) OR (valid_to > valid_from AND valid_to = _next_from) END, false)`,
    );
  }
  expect(wrong).toEqual([]);
}
