import { rm, stat, utimes } from 'node:fs/promises';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { MART_SCHEMA, marts } from '../metrics/marts/marts.ts';
import { agesOf, type Layout, layoutOf } from '../publish/snapshot/layout.ts';
import type { DatabaseOptions } from '../warehouse/database.ts';
import { timedTables } from '../warehouse/file/refresh-copy.ts';
import { storeMarks } from '../warehouse/ledger/marks.ts';
import { readUnfinishedWindows } from '../warehouse/ledger/unfinished-windows.ts';
import { opensAsReplica, publishAnalytics } from '../warehouse/replica.ts';
import { ensureViews } from '../warehouse/views.ts';
import { openWarehouse, type Warehouse } from '../warehouse/warehouse.ts';
import { builtInCatalogue } from './catalogues.ts';
import { refuseCopy } from './home-folder.ts';
import { currentMarks } from './marks-file.ts';
import { type Session, type SessionContext, withSession } from './session.ts';
import { storeForms } from './stored-forms-file.ts';

/** Memory for publishing the replica without a sync, in MB. */
const COPY_MEMORY_MB = 256;

/** Settings and services that a command passes to operations. */
export interface Context extends SessionContext {
  readonly config: WorkspaceConfig;
  /** Starts of runs are recorded with it: `job` and the name of the job, or `program`. Default: `command`. */
  readonly trigger?: string;
  /** Called once with a sentence when a shared service becomes unreachable, and once when it is back. */
  readonly onTrouble?: (sentence: string) => void;
}

/** The replica of an open warehouse. */
export interface OwnCopy {
  /** Whether it was published with all data of the warehouse. It may have been damaged since. */
  isCurrent: boolean;
  /** Aborted with `lease_lost` when this process may no longer publish it. */
  readonly lost: AbortSignal;
}

/** A workspace's warehouse, opened for writing. */
export interface Opened {
  readonly warehouse: Warehouse;
  readonly layout: Layout;
  readonly copy: OwnCopy;
}

/** Publishes the replica from the warehouse when the warehouse is free. Throws like `withWarehouse`. */
export function renewReplica(context: Context): Promise<void> {
  return withWarehouse(context, { memoryLimitMb: COPY_MEMORY_MB }, ({ warehouse, layout, copy }) =>
    publish(warehouse, layout, copy),
  );
}

/**
 * Publishes the replica, without days of which a sync has stored some pages but not all. Throws `lease_lost` if another
 * process now has the lease.
 */
export async function publish(warehouse: Warehouse, layout: Layout, copy: Opened['copy']): Promise<void> {
  copy.lost.throwIfAborted();
  const { catalogue } = warehouse;
  await publishAnalytics(warehouse.database, layout.analytics, {
    find: async (query) => (await readUnfinishedWindows(query, catalogue)).hidden,
    timed: timedTables(catalogue),
  });
  await storeForms(layout.endpoints, warehouse.endpoints.forms());
  copy.isCurrent = true;
}

/** Publishes the replica like `publish`, unless the present one has all data of the warehouse and opens. */
export async function publishIfOutdated(warehouse: Warehouse, layout: Layout, copy: Opened['copy']): Promise<void> {
  if (!copy.isCurrent || !(await opensAsReplica(layout.analytics))) await publish(warehouse, layout, copy);
}

/** Publishes the replica like `publish` while a sync runs, unless the sync is reading days again. Returns whether it did. */
export async function publishMidway(warehouse: Warehouse, layout: Layout, copy: Opened['copy']): Promise<boolean> {
  copy.lost.throwIfAborted();
  const { catalogue } = warehouse;
  const isPublished = await publishAnalytics(warehouse.database, layout.analytics, {
    find: async (query) => {
      const { hidden, isMixed } = await readUnfinishedWindows(query, catalogue);
      return isMixed ? null : hidden;
    },
    timed: timedTables(catalogue),
  });
  if (isPublished) await storeForms(layout.endpoints, warehouse.endpoints.forms());
  return isPublished;
}

/**
 * Opens or creates a workspace's warehouse for writing, runs the work and closes it. Enters a session first, unless the context has
 * one; the context passed to the work has it.
 *
 * @throws `warehouse_locked` if another process has the warehouse open without the lock of the workspace, and the errors of `withSession`.
 * @example
 * const flaws = await withWarehouse(context, { memoryLimitMb: 256 }, ({ warehouse }) =>
 *   warehouse.database.exclusive((session) => findFlaws(session.query, warehouse.catalogue)),
 * );
 */
export async function withWarehouse<T>(
  context: Context,
  resources: Pick<DatabaseOptions, 'memoryLimitMb' | 'threads'>,
  work: (opened: Opened, inside: Context) => Promise<T>,
): Promise<T> {
  await ensureWritableFolder(context.config.folder);
  return withSession(context, 'wait', (inside) => openWithin(inside, resources, (opened) => work(opened, inside)));
}

async function openWithin<T>(
  { config, session }: Context & { readonly session: Session },
  resources: Pick<DatabaseOptions, 'memoryLimitMb' | 'threads'>,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const layout = layoutOf(config.folder);
  if (config.home === null) await refuseCopy(config.folder);
  const { home, lost } = session;
  const { copy: copiedAt, live } = agesOf(layout);
  const copy = { isCurrent: copiedAt > 0 && copiedAt >= live, lost };
  const options = { ...resources, temporaryFolder: layout.temporary };
  const open = (): Promise<Warehouse> => openWarehouse(layout.warehouse, builtInCatalogue, options);
  const warehouse = await (home?.open(open, (opened) => opened.database.exclusive) ?? open());
  const { database } = warehouse;
  try {
    // A replica made by an earlier version has other marts, or none.
    if (await ensureViews(database, MART_SCHEMA, marts())) copy.isCurrent = false;
    if (await storeMarks(database, ...currentMarks(config))) copy.isCurrent = false;
    return await work({ warehouse, layout, copy });
  } finally {
    const close = async (): Promise<void> => {
      await checkpoint(warehouse);
      await warehouse.close();
    };
    await (home?.close(close) ?? close());
    await rm(layout.temporary, { recursive: true, force: true });
    if (copy.isCurrent) await markCurrent(layout);
  }
}

// Checkpoints now, because no user waits for it. If it fails, the log is applied when the file is opened next.
async function checkpoint(warehouse: Warehouse): Promise<void> {
  await warehouse.database.exclusive((session) => session.run('CHECKPOINT')).catch(() => undefined);
}

// Closing the warehouse touches its file, so give the replica the same time to mark it as equally new. The clock of this machine may differ
// from that of the file system.
async function markCurrent({ analytics, warehouse }: Layout): Promise<void> {
  // A Date has no fractions of a millisecond.
  const at = new Date(Math.ceil((await stat(warehouse)).mtimeMs));
  await utimes(analytics, at, at);
}
