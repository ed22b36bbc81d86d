import { z } from 'zod';
import type { Catalogue } from '../../contract/catalogue.ts';
import { CHANGE, type HistoryTable, VALID_FROM, VALID_TO } from '../../contract/histories.ts';
import { number, type ValueOf } from '../../contract/operation/json-parts.ts';
import type { Query } from '../database.ts';
import { quoted } from '../schema.ts';

/** Invalid rows of a table. */
export const flaw = z.object({
  table: z.string(),
  kind: z.enum(['repeated key', 'no parent', 'several open versions', 'gap or overlap of versions']),
  count: number.describe('repeated keys, rows with several open versions, rows without a parent, or versions'),
});

/** Invalid rows of a table. */
export type Flaw = ValueOf<typeof flaw>;

/**
 * Checks all tables for repeated keys, all child tables for rows without a parent, and all histories for overlapping
 * versions and for gaps between versions.
 */
export async function findFlaws(query: Query, { resources, tables, histories }: Catalogue): Promise<Flaw[]> {
  const flaws: Flaw[] = [];
  const note = async (table: string, kind: Flaw['kind'], from: string): Promise<void> => {
    const [row] = await query(`SELECT count(*) FROM (${from})`);
    const count = Number(row?.[0] ?? 0);
    if (count > 0) flaws.push({ table, kind, count });
  };
  for (const { name, key } of tables.filter((table) => table.key.length > 0)) {
    await note(name, 'repeated key', repeatedSql(name, key));
  }
  // A list and its detail have the same table, each with its own children.
  const parents = resources.flatMap(({ derived }) => derived);
  const children = new Map(
    parents.flatMap((parent) => parent.children.map((child) => [child.name, { child, parent }])),
  );
  for (const { child, parent } of children.values()) {
    const same = parent.key.map(
      (column, index) => `p.${quoted(column)} IS NOT DISTINCT FROM c.${quoted(child.parentKey[index] as string)}`,
    );
    const orphans = `SELECT 1 FROM ${quoted(child.name)} c ANTI JOIN ${quoted(parent.name)} p ON ${same.join(' AND ')}`;
    await note(child.name, 'no parent', orphans);
  }
  for (const history of histories) {
    const { name, rowKey } = history;
    const open = `(SELECT * FROM ${quoted(name)} WHERE ${VALID_TO} IS NULL)`;
    await note(name, 'several open versions', repeatedSql(open, rowKey, true));
    await note(name, 'gap or overlap of versions', brokenSql(history));
  }
  return flaws;
}

function repeatedSql(source: string, key: readonly string[], isQuery = false): string {
  const columns = key.map(quoted).join(', ');
  const group = columns === '' ? '' : `GROUP BY ${columns}`;
  return `SELECT count(*) FROM ${isQuery ? source : quoted(source)} ${group} HAVING count(*) > 1`;
}

// A version ends when the next one begins. A deletion has no duration and may be followed by a gap.
function brokenSql({ name, rowKey }: HistoryTable): string {
  const keys = rowKey.map(quoted).join(', ') || '1';
  const steps = `SELECT ${VALID_FROM}, ${VALID_TO}, ${CHANGE}, lead(${VALID_FROM}) OVER later AS _next_from, lead(${CHANGE}) OVER later AS _next
    FROM ${quoted(name)} WINDOW later AS (PARTITION BY ${keys} ORDER BY ${VALID_FROM}, ${VALID_TO} NULLS LAST)`;
  return `SELECT 1 FROM (${steps}) WHERE NOT coalesce(CASE
    WHEN ${VALID_FROM} IS NULL OR _next_from <= ${VALID_FROM} THEN false
    WHEN ${CHANGE} = 'deleted' THEN ${VALID_TO} = ${VALID_FROM}
    WHEN ${VALID_TO} IS NULL THEN _next IS NULL
    ELSE ${VALID_TO} > ${VALID_FROM} AND ${VALID_TO} = _next_from END, false)`;
}
