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
  if (forms.size === 0) return;
  const rows = await session.all('SELECT name, value FROM sync.shapes WHERE resource = $1', [resource]);
  const stored = new Map(rows.map(({ name, value }) => [name, value]));
  const changed = [...forms].filter(([name, value]) => stored.get(name) !== value);
  if (changed.length === 0) return;
  const names = changed.map(([name]) => name);
  const values = changed.map(([, value]) => value);
  await session.run('DELETE FROM sync.shapes WHERE resource = $1 AND list_contains($2, name)', [resource, names]);
  await session.run('INSERT INTO sync.shapes SELECT $1, unnest($2), unnest($3)', [resource, names, values]);
}
