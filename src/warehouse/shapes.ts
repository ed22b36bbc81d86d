import { FORMS } from '../contract/forms.ts';
import type { Query, Session } from './database.ts';

/** How upstream's answers look where the specification leaves it open, as they were last seen. */
export interface Shapes {
  /** A form of a resource, such as its envelope; null while none was seen. */
  get(resource: string, name: string): string | null;
  /** All of them as one text, for comparing. */
  readonly text: string;
}

/** Reads all forms. */
export async function readShapes(query: Query): Promise<Shapes> {
  const rows = await query('SELECT resource, name, value FROM sync.shapes ORDER BY ALL');
  const values = new Map(rows.map(([resource, name, value]) => [`${String(resource)} ${String(name)}`, String(value)]));
  return { get: (resource, name) => values.get(`${resource} ${name}`) ?? null, text: JSON.stringify(rows) };
}

/** Keeps forms of a resource in place of those before; of digits the most that were seen. */
export async function writeShapes(
  session: Session,
  resource: string,
  forms: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [name, value] of forms) {
    const where = 'resource = $1 AND name = $2';
    const [row] = await session.all(`SELECT value FROM sync.shapes WHERE ${where}`, [resource, name]);
    const known = row?.['value'];
    if (known === value || (name === FORMS.timeDigits && Number(known ?? -1) > Number(value))) continue;
    await session.run(`DELETE FROM sync.shapes WHERE ${where}`, [resource, name]);
    await session.run('INSERT INTO sync.shapes SELECT $1, $2, $3', [resource, name, value]);
  }
}
