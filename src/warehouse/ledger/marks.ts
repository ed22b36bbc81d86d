import type { Database, Query } from '../database.ts';
import { literal } from '../schema.ts';

/** Name of the DuckDB variable that replaces the stored marks in a connection. */
export const MARKS_VARIABLE = 'sightline_marks';

/** Returns a text that changes with the stored marks. They do not come from upstream, so the data version does not cover them. */
export async function readMarksVersion(query: Query): Promise<string> {
  return String((await query('SELECT count(*), bit_xor(hash(m)) FROM sync.marks m'))[0]);
}

/**
 * Replaces the stored marks of readers by those in a JSON list with the members `brand`, `kind`, `id` and `value`. A mark without a
 * brand comes from a setting and applies to all brands. `keepsReaders` keeps the stored marks of readers instead. Returns whether
 * anything changed.
 */
export async function storeMarks(database: Database, json: string, keepsReaders: boolean): Promise<boolean> {
  const kept = keepsReaders ? ' UNION ALL SELECT * FROM sync.marks WHERE NOT is_setting' : '';
  const given = `SELECT b.id AS brand_id, g.kind, g.id, g.value, g.brand IS NULL AS is_setting
    FROM (SELECT unnest(from_json(${literal(json)}, '[{"brand": "UUID", "kind": "VARCHAR", "id": "VARCHAR", "value": "VARCHAR"}]'),
      recursive := true)) g
    JOIN main.brands b ON b.id = coalesce(g.brand, b.id) AND b._deleted_at IS NULL${kept}`;
  return database.transaction(async (session) => {
    const [different] = await session.query(
      `SELECT count(*) FROM (
        (SELECT * FROM sync.marks EXCEPT (${given})) UNION ALL ((${given}) EXCEPT SELECT * FROM sync.marks))`,
    );
    if (Number(different?.[0]) === 0) return false;
    await session.run(`CREATE OR REPLACE TEMP TABLE new_marks AS ${given}`);
    await session.run('DELETE FROM sync.marks; INSERT INTO sync.marks FROM new_marks; DROP TABLE temp.new_marks');
    return true;
  });
}
