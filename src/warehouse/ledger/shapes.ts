import type { Query, Session } from '../database.ts';

/** The last seen forms of upstream's responses where the specification leaves them open. */
export interface Shapes {
  /** Returns a form of a resource, such as its envelope; null if none was seen yet. */
  get(resource: string, name: string): string | null;
  /** Returns all forms of a resource as one text, for comparison. */
  of(resource: string): string;
  /** All forms as one text, for comparison. */
  readonly text: string;
  readonly rows: readonly (readonly [resource: string, name: string, value: string])[];
}

/** Reads all forms. */
export async function readShapes(query: Query): Promise<Shapes> {
  const found = await query('SELECT resource, name, value FROM sync.shapes ORDER BY ALL');
  const rows = found.map((row) => row.map(String) as [string, string, string]);
  const values = new Map(rows.map(([resource, name, value]) => [`${resource} ${name}`, value]));
  return {
    get: (resource, name) => values.get(`${resource} ${name}`) ?? null,
    of: (resource) => JSON.stringify(rows.filter(([name]) => name === resource)),
    text: JSON.stringify(rows),
    rows,
  };
}

/** Stores forms of a resource; replaces earlier values. */
export async function writeShapes(
  session: Session,
  resource: string,
  forms: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [name, value] of forms) {
    const condition = 'resource = $1 AND name = $2';
    const [row] = await session.all(`SELECT value FROM sync.shapes WHERE ${condition}`, [resource, name]);
    if (row?.['value'] === value) continue;
    await session.run(`DELETE FROM sync.shapes WHERE ${condition}`, [resource, name]);
    await session.run('INSERT INTO sync.shapes SELECT $1, $2, $3', [resource, name, value]);
  }
}
