import type { Session } from '../database.ts';

const NAME = 'restored_from';

/** Records the source of a restored warehouse without runs of its own. */
export async function noteOrigin(session: Session, origin: string): Promise<void> {
  await session.run('DELETE FROM sync.meta WHERE name = $1', [NAME]);
  await session.run('INSERT INTO sync.meta VALUES ($1, $2)', [NAME, origin]);
}
