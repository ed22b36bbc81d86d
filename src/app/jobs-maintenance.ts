import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SightlineError } from '../base/errors.ts';
import { publishByRename, syncToDisk } from '../base/files.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { applyRetention } from '../snapshot/retention.ts';
import { type Flaw, findFlaws } from '../warehouse/integrity.ts';
import { copyWarehouse, findMissing } from '../warehouse/rebuild.ts';
import { withHome } from './home.ts';
import { noData } from './newest.ts';
import { retainPublished } from './publish.ts';
import { type Context, catalogue, withWarehouse } from './workspace.ts';

const RESOURCES = { memoryLimitMb: 256, threads: 2 };

/** Deletes the snapshots of a workspace that its settings do not keep, wherever they are published; returns their ids. */
export async function retainSnapshots(context: Context): Promise<string[]> {
  const { config, clock } = context;
  const layout = layoutOf(config.folder);
  const here = existsSync(layout.snapshots) ? await applyRetention(layout, config.keep, clock.now()) : [];
  return [...new Set([...here, ...(await retainPublished(context))])];
}

/** Sizes of the warehouse file, in bytes, before and after. */
export interface Compaction {
  readonly before: number;
  readonly after: number;
}

/**
 * Writes the warehouse file anew without the room that deleted rows left, and puts it in place by rename once it holds every
 * row; a file that would not shrink stays. Throws `no_data`, and `warehouse_invalid` for a copy that lacks rows.
 */
export function compactWarehouse(context: Context): Promise<Compaction> {
  return withHome(context, null, compact);
}

async function compact(context: Context): Promise<Compaction> {
  const layout = layoutOf(context.config.folder);
  if (!existsSync(layout.warehouse)) throw noData(context.config);
  const aside = join(context.config.folder, '.compact.duckdb');
  return withWarehouse(context, RESOURCES, async ({ warehouse: { database } }) => {
    const clear = (): Promise<unknown> => Promise.all([aside, `${aside}.wal`].map((path) => rm(path, { force: true })));
    try {
      await clear();
      // The log of the old file must be empty: the new one would be taken to be what it goes on from.
      await database.exclusive((session) => session.run('CHECKPOINT'));
      await copyWarehouse(database, aside);
      context.signal.throwIfAborted();
      const missing = await findMissing(database, aside, catalogue);
      if (missing.length > 0) {
        const tables = missing.map(({ table }) => table).join(', ');
        throw new SightlineError(
          'warehouse_invalid',
          `the compacted copy lacks rows of ${tables}; the file stays as it is`,
        );
      }
      const [before, after] = [layout.warehouse, aside].map((path) => statSync(path).size) as [number, number];
      if (after >= before) return { before, after: before };
      await syncToDisk(aside);
      await publishByRename(aside, layout.warehouse);
      return { before, after };
    } finally {
      await clear();
    }
  });
}

/** Looks for rows that cannot be right: keys twice, nested rows without a parent, histories that break off. Throws `no_data`. */
export function checkWarehouse(context: Context): Promise<Flaw[]> {
  return withHome(context, null, check);
}

async function check(context: Context): Promise<Flaw[]> {
  if (!existsSync(layoutOf(context.config.folder).warehouse)) throw noData(context.config);
  return withWarehouse(context, RESOURCES, ({ warehouse }) =>
    warehouse.database.exclusive((session) => findFlaws(session.query, catalogue)),
  );
}
