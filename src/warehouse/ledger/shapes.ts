import { FORMS } from '../../contract/formats.ts';
import type { Query, Session } from '../database.ts';

/** The last seen forms of upstream's responses where the specification leaves them open. */
export interface Shapes {
  /** Returns a form of a resource, such as its envelope; null if none was seen yet. */
  get(resource: string, name: string): string | null;
  /** Returns all forms of a resource as one text, for comparison. */
  of(resource: string): string;
  /** All forms as one text, for comparison. */
  readonly text: string;
}

/** Reads all forms. */
export async function readShapes(query: Query): Promise<Shapes> {
  const rows = await query('SELECT resource, name, value FROM sync.shapes ORDER BY ALL');
  const values = new Map(rows.map(([resource, name, value]) => [`${String(resource)} ${String(name)}`, String(value)]));
  return {
    get: (resource, name) => values.get(`${resource} ${name}`) ?? null,
    of: (resource) => JSON.stringify(rows.filter(([name]) => name === resource)),
    text: JSON.stringify(rows),
  };
}

/** Stores forms of a resource. Replaces earlier values, except that the number of time digits only grows. */
export async function writeShapes(
  session: Session,
  resource: string,
  forms: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [name, value] of forms) {
    const condition = 'resource = $1 AND name = $2';
    const [row] = await session.all(`SELECT value FROM sync.shapes WHERE ${condition}`, [resource, name]);
    const known = row?.['value'];
    if (known === value || (name === FORMS.timeDigits && Number(known ?? -1) > Number(value))) continue;
    await session.run(`DELETE FROM sync.shapes WHERE ${condition}`, [resource, name]);
    await session.run('INSERT INTO sync.shapes SELECT $1, $2, $3', [resource, name, value]);
  }
}
