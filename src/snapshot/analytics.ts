import { publishByRename, syncToDisk } from '../base/files.ts';
import { copyDatabase, removeDatabase } from '../warehouse/copy-database.ts';
import type { Database } from '../warehouse/database.ts';
import { checkOpens } from '../warehouse/read-only.ts';
import { clearSpills } from '../warehouse/spill.ts';

/**
 * Publishes the analysts' copy: everything in the warehouse, written aside and put in place by rename, so that readers
 * find a whole file at any moment. The copy keeps DuckDB's default storage version, which older readers understand. Throws
 * `warehouse_invalid` if the new copy does not open; the one before stays in place then.
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

/** Whether the analysts' copy opens. A copy that is cut off, overwritten or not there does not. */
export async function opensAsReplica(path: string): Promise<boolean> {
  return checkOpens(path).then(
    () => true,
    () => false,
  );
}
