import type { Database } from '../database.ts';
import { literal } from '../schema.ts';

/** Name of the DuckDB variable that replaces the stored marks in a connection. */
export const MARKS_VARIABLE = 'sightline_marks';

/**
 * Replaces the stored marks of readers by those in a JSON list with the members `brand`, `kind`, `id` and `value`. A mark without a
 * brand is one of a setting, and holds for all brands. Returns whether anything changed.
 */
export async function storeMarks(database: Database, json: string): Promise<boolean> {
  const given = `SELECT b.id AS brand_id, g.kind, g.id, g.value, g.brand IS NULL AS is_setting
    FROM (SELECT unnest(from_json(${literal(json)}, '[{"brand": "UUID", "kind": "VARCHAR", "id": "VARCHAR", "value": "VARCHAR"}]'),
      recursive := true)) g
    JOIN main.brands b ON b.id = coalesce(g.brand, b.id) AND b._deleted_at IS NULL`;
  return database.transaction(async (session) => {
    const [different] = await session.query(
      `SELECT count(*) FROM (
        (SELECT * FROM sync.marks EXCEPT (${given})) UNION ALL ((${given}) EXCEPT SELECT * FROM sync.marks))`,
    );
    if (Number(different?.[0]) === 0) return false;
    await session.run(`DELETE FROM sync.marks; INSERT INTO sync.marks ${given}`);
    return true;
  });
}
