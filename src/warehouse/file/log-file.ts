import { existsSync } from 'node:fs';
import { SightlineError } from '../../base/errors.ts';
import { openDatabase } from '../database.ts';
import { logOf } from './open-files.ts';
import { openReadOnly } from './read-only.ts';

/**
 * Writes the log of a closed warehouse into its database file.
 * @throws `warehouse_locked`, `warehouse_invalid`
 */
export async function foldLog(path: string): Promise<void> {
  if (!existsSync(logOf(path))) return;
  const database = await openDatabase(path);
  try {
    await database.exclusive((session) => session.run('CHECKPOINT'));
  } finally {
    await database.close();
  }
}

/**
 * Checks that no process has a warehouse open for writing; ignores other errors.
 * @throws `warehouse_locked`
 */
export async function refuseIfOpen(path: string, spill: string): Promise<void> {
  if (!existsSync(path)) return;
  try {
    const instance = await openReadOnly(path, { memoryLimitMb: 64, spill });
    instance.closeSync();
  } catch (thrown) {
    if (thrown instanceof SightlineError && thrown.code === 'warehouse_locked') throw thrown;
  }
}
