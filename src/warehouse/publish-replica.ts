import { publishByRename, syncToDisk } from '../base/files.ts';
import type { Database } from './database.ts';
import { copyDatabase, removeDatabase } from './file/copy-database.ts';
import { checkOpens } from './file/read-only.ts';
import { clearSpills } from './file/spill.ts';

/**
 * Publishes the replica: copies the warehouse to a temporary file and renames it into place, so that readers always
 * find a complete file. The replica uses DuckDB's default storage version, which older readers understand.
 * @throws `warehouse_invalid` if the new replica does not open; the previous one then stays in place
 */
export async function publishAnalytics(database: Database, path: string): Promise<void> {
  const aside = `${path}.new`;
  await removeDatabase(aside);
  await clearSpills(path, Date.now());
  try {
    await database.exclusive((session) => copyDatabase(session, aside, { forReaders: true }));
    await checkOpens(aside);
    await syncToDisk(aside);
    await publishByRename(aside, path);
  } finally {
    await removeDatabase(aside);
  }
}

/** Reports whether the replica opens. A missing, truncated or overwritten file does not. */
export async function opensAsReplica(path: string): Promise<boolean> {
  return checkOpens(path).then(
    () => true,
    () => false,
  );
}
