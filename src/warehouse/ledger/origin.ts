import type { Query, Session } from '../database.ts';

const NAME = 'restored_from';

/** Records the source of a restored warehouse without runs of its own; the source is then part of its data version. */
export async function noteOrigin(session: Session, origin: string): Promise<void> {
  await session.run('DELETE FROM sync.meta WHERE name = $1', [NAME]);
  await session.run('INSERT INTO sync.meta VALUES ($1, $2)', [NAME, origin]);
}

/** Reads the source of a restored warehouse; empty if syncs filled it from the start. */
export async function readOrigin(query: Query): Promise<string> {
  const [row] = await query(`SELECT value FROM sync.meta WHERE name = '${NAME}'`);
  return String(row?.[0] ?? '');
}
