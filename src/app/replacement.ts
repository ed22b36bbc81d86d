import { existsSync } from 'node:fs';
import { link, rename } from 'node:fs/promises';
import { type ErrorCode, SightlineError, toSightlineError } from '../base/errors.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { removeDatabase } from '../warehouse/copy-database.ts';
import { refuseIfOpen } from '../warehouse/log-file.ts';
import { openWarehouse, type Warehouse } from '../warehouse/warehouse.ts';
import { type Context, catalogue, withWarehouse } from './workspace.ts';

/** What making or reading a whole warehouse may use. */
export const REPLACEMENT_RESOURCES = { memoryLimitMb: 256 } as const;

/** A warehouse that is about to be replaced. */
export interface Replaceable {
  /** The one that is there, owned until the work is done; null if there is none, or a damaged one. */
  readonly old: Warehouse | null;
  /** The time, for the name under which the old one is kept: `20261121T190213Z`. */
  readonly stamp: string;
  /** Throws `warehouse_locked` when there was no warehouse and another process has made one meanwhile. */
  refuseIfTaken(): void;
}

/**
 * Lets `make` build a warehouse at `aside` and put it in the place of the workspace's, which is owned until it has; what
 * is left aside is removed, however it ends. A warehouse that cannot be opened for one of the reasons in `despite` is
 * treated as none, and so is one that `make` finds damaged: `make` then begins again without it.
 */
export async function replaceWarehouse<T>(
  context: Context,
  { aside, despite }: { readonly aside: string; readonly despite: readonly ErrorCode[] },
  make: (replaceable: Replaceable) => Promise<T>,
): Promise<T> {
  const path = layoutOf(context.config.folder).warehouse;
  const stamp = new Date(context.clock.now()).toISOString().replace(/[-:]|\.\d+/g, '');
  // What was left aside by one that was killed is removed, but not while it is at work: opening says so.
  if (existsSync(aside)) await inWarehouse(aside, () => Promise.resolve()).catch(throwIfLocked);
  const isThere = existsSync(path);
  const refuseIfTaken = (): void => {
    if (isThere || !existsSync(path)) return;
    throw new SightlineError('warehouse_locked', `another process has made ${path} meanwhile`);
  };
  const replace = async (old: Warehouse | null): Promise<T> => {
    try {
      await removeDatabase(aside);
      return await make({ old, stamp, refuseIfTaken });
    } finally {
      await removeDatabase(aside);
    }
  };
  if (!isThere) return replace(null);
  let opened = null as Warehouse | null;
  try {
    return await withWarehouse(context, REPLACEMENT_RESOURCES, ({ warehouse }) => {
      opened = warehouse;
      return replace(warehouse);
    });
  } catch (thrown) {
    const isUseless =
      opened === null ? despite.includes(toSightlineError(thrown).code) : opened.database.damage() !== null;
    if (!isUseless) throw thrown;
    return replace(null);
  }
}

/**
 * Keeps a warehouse under another name before it is replaced by rename. The log of a sound one is written into its file first; a damaged one (`old` is
 * null) keeps its log beside it. Throws `warehouse_locked` if another process has a damaged one open.
 */
export async function keepOld(path: string, kept: string, old: Warehouse | null): Promise<void> {
  await old?.database.exclusive((session) => session.run('CHECKPOINT'));
  if (old === null) await refuseIfOpen(path, `${kept}.spill`);
  if (old === null && existsSync(`${path}.wal`)) await rename(`${path}.wal`, `${kept}.wal`);
  // A second name, so that there is no moment without a warehouse; not every file system, and no folder, can have one.
  await link(path, kept).catch(() => rename(path, kept));
}

/** Works in a warehouse that is not the workspace's, made if need be, and leaves its file whole by itself. */
export async function inWarehouse<T>(path: string, work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  const warehouse = await openWarehouse(path, catalogue, REPLACEMENT_RESOURCES);
  try {
    const result = await work(warehouse);
    await warehouse.database.exclusive((session) => session.run('CHECKPOINT'));
    return result;
  } finally {
    await warehouse.close();
  }
}

function throwIfLocked(thrown: unknown): void {
  if (thrown instanceof SightlineError && thrown.code === 'warehouse_locked') throw thrown;
}
