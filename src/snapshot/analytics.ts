import { publishByRename, syncToDisk } from '../base/files.ts';
import { copyDatabase, removeDatabase } from '../warehouse/copy-database.ts';
import type { Database } from '../warehouse/database.ts';
import { clearSpills } from '../warehouse/spill.ts';

/**
 * Publishes the analysts' copy: everything in the warehouse, written aside and put in place by rename, so that readers
 * find a whole file at any moment. The copy keeps DuckDB's default storage version, which older readers understand.
 */
export async function publishAnalytics(database: Database, path: string): Promise<void> {
  const aside = `${path}.new`;
  await removeDatabase(aside);
  await clearSpills(path, Date.now());
  try {
    await database.exclusive((session) => copyDatabase(session, aside, { forReaders: true }));
    await syncToDisk(aside);
    await publishByRename(aside, path);
  } finally {
    await removeDatabase(aside);
  }
}
