import { rm } from 'node:fs/promises';
import { publishByRename, syncToDisk } from '../base/files.ts';
import type { Database } from '../warehouse/database.ts';
import { literal, quoted } from '../warehouse/schema.ts';
import { clearSpills } from '../warehouse/spill.ts';

/**
 * Publishes the analysts' copy: everything in the warehouse, written aside and put in place by rename, so that readers
 * find a whole file at any moment. The copy keeps DuckDB's default storage version, which older readers understand.
 */
export async function publishAnalytics(database: Database, path: string): Promise<void> {
  const aside = `${path}.new`;
  await rm(aside, { force: true });
  await rm(`${aside}.wal`, { force: true });
  await clearSpills(path, Date.now());
  try {
    await database.exclusive(async (session) => {
      const [row] = await session.all('SELECT current_database() AS name');
      await session.run(`ATTACH ${literal(aside)} AS analytics_copy (STORAGE_VERSION 'v1.0.0')`);
      try {
        await session.run(`COPY FROM DATABASE ${quoted(String(row?.['name']))} TO analytics_copy`);
      } finally {
        await session.run('DETACH analytics_copy');
      }
    });
    await syncToDisk(aside);
    await publishByRename(aside, path);
  } finally {
    await rm(aside, { force: true });
    await rm(`${aside}.wal`, { force: true });
  }
}
