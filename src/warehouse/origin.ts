import type { Query, Session } from './database.ts';

const NAME = 'restored_from';

/** Notes what a warehouse was built from that has no runs of its own yet, by which its data are told from any other's. */
export async function noteOrigin(session: Session, origin: string): Promise<void> {
  await session.run('DELETE FROM sync.meta WHERE name = $1', [NAME]);
  await session.run('INSERT INTO sync.meta VALUES ($1, $2)', [NAME, origin]);
}

/** What a warehouse was built from; empty for one that syncs have filled from the start. */
export async function readOrigin(query: Query): Promise<string> {
  const [row] = await query(`SELECT value FROM sync.meta WHERE name = '${NAME}'`);
  return String(row?.[0] ?? '');
}
