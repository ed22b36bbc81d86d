import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withDiskNeed } from '../base/disk-need.ts';
import { SightlineError } from '../base/errors.ts';
import { publishByRename, syncToDisk } from '../base/files.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { applyRetention } from '../publish/snapshot/retention.ts';
import { type Flaw, findFlaws } from '../warehouse/file/integrity.ts';
import { copyWarehouse, findMissing } from '../warehouse/file/rebuild.ts';
import { noData } from '../workspace/newest-replica.ts';
import { withSession } from '../workspace/session.ts';
import { type Context, withWarehouse } from '../workspace/workspace.ts';
import { estimateCopy } from './disk-estimates.ts';
import { retainPublished } from './publish.ts';

const RESOURCES = { memoryLimitMb: 256, threads: 2 };

/** Deletes snapshots that the `keep` setting does not retain, locally and where they are published. Returns their IDs. */
export async function retainSnapshots(context: Context): Promise<string[]> {
  const { config, clock } = context;
  const layout = layoutOf(config.folder);
  const here = existsSync(layout.snapshots) ? await applyRetention(layout, config.keep, clock.now()) : [];
  return [...new Set([...here, ...(await retainPublished(context))])];
}

/** Sizes of the warehouse file before and after, in bytes. */
export interface Compaction {
  readonly before: number;
  readonly after: number;
}

/**
 * Rewrites the warehouse file without the space of deleted rows. Replaces it by rename after checking that every row was
 * copied, and only if the new file is smaller.
 *
 * @throws `no_data`, and `warehouse_invalid` if the new file lacks rows.
 */
export function compactWarehouse(context: Context): Promise<Compaction> {
  const { folder } = context.config;
  const unchanged = 'the warehouse file is unchanged';
  const need = estimateCopy(context.config, { folder, by: 'the compacted warehouse', unchanged });
  return withDiskNeed(need, () => withSession(context, 'wait', compact));
}

async function compact(context: Context): Promise<Compaction> {
  const layout = layoutOf(context.config.folder);
  if (!existsSync(layout.warehouse)) throw noData(context.config);
  const aside = join(context.config.folder, '.compact.duckdb');
  return withWarehouse(context, RESOURCES, async ({ warehouse: { database, catalogue } }) => {
    const clear = (): Promise<unknown> => Promise.all([aside, `${aside}.wal`].map((path) => rm(path, { force: true })));
    try {
      await clear();
      // The write-ahead log must be empty, because DuckDB would apply it to the new file.
      await database.exclusive((session) => session.run('CHECKPOINT'));
      await copyWarehouse(database, aside);
      context.signal.throwIfAborted();
      const missing = await findMissing(database, aside, catalogue);
      if (missing.length > 0) {
        const tables = missing.map(({ table }) => table).join(', ');
        throw new SightlineError(
          'warehouse_invalid',
          `the compacted copy lacks rows of ${tables}; the warehouse file is unchanged`,
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

/** Finds invalid rows: duplicate keys, nested rows without a parent, histories with gaps. Throws `no_data`. */
export function checkWarehouse(context: Context): Promise<Flaw[]> {
  return withSession(context, 'wait', check);
}

/** Describes invalid rows of a table. */
export function flawText({ table, kind, count }: Flaw): string {
  return `${table}: ${kind}, ${count.toLocaleString('en-US')} ${count === 1 ? 'time' : 'times'}`;
}

async function check(context: Context): Promise<Flaw[]> {
  if (!existsSync(layoutOf(context.config.folder).warehouse)) throw noData(context.config);
  return withWarehouse(context, RESOURCES, ({ warehouse }) =>
    warehouse.database.exclusive((session) => findFlaws(session.query, warehouse.catalogue)),
  );
}
