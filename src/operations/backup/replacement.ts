import { existsSync } from 'node:fs';
import { link, rename } from 'node:fs/promises';
import { type ErrorCode, SightlineError, toSightlineError } from '../../base/errors.ts';
import type { Catalogue } from '../../contract/catalogue.ts';
import { calibrateConventions } from '../../metrics/calibration/calibrate.ts';
import { layoutOf } from '../../publish/snapshot/layout.ts';
import { removeDatabase } from '../../warehouse/file/copy-database.ts';
import { openReadOnly } from '../../warehouse/file/read-only.ts';
import type { RunKind } from '../../warehouse/ledger/runs.ts';
import { openWarehouse, type Warehouse } from '../../warehouse/warehouse.ts';
import { catalogueOf } from '../../workspace/catalogues.ts';
import { type Context, publish, withWarehouse } from '../../workspace/workspace.ts';

/** Resources for building or reading a complete warehouse. */
const REPLACEMENT_RESOURCES = { memoryLimitMb: 256 } as const;

/** A warehouse that is about to be replaced. */
export interface Replaceable {
  /** The existing warehouse, locked until the work is done; null if there is none or it is damaged. */
  readonly old: Warehouse | null;
  /** Current time for the file name of the old warehouse: `20261121T190213Z`. */
  readonly stamp: string;
  /** Throws `warehouse_locked` if there was no warehouse and another process has created one since. */
  refuseIfTaken(): void;
}

/**
 * Calls `make`, which builds a warehouse at `aside` and replaces the workspace's warehouse with it. The old warehouse stays
 * locked until `make` ends. Files at `aside` are always removed. A warehouse that cannot be opened because of an error in
 * `despite` counts as missing. If `make` finds damage in the old warehouse, it is called again without it.
 */
export async function replaceWarehouse<T>(
  context: Context,
  { aside, despite }: { readonly aside: string; readonly despite: readonly ErrorCode[] },
  make: (replaceable: Replaceable) => Promise<T>,
): Promise<T> {
  const path = layoutOf(context.config.folder).warehouse;
  const stamp = new Date(context.clock.now()).toISOString().replace(/[-:]|\.\d+/g, '');
  // Remove the file of a killed process. Opening it first fails with `warehouse_locked` if its process still runs.
  if (existsSync(aside))
    await inWarehouse(aside, catalogueOf(context.config), () => Promise.resolve()).catch(throwIfLocked);
  const isThere = existsSync(path);
  const refuseIfTaken = (): void => {
    if (isThere || !existsSync(path)) return;
    throw new SightlineError('warehouse_locked', `another process has created ${path} in the meantime`);
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
 * Keeps a warehouse under another name before it is replaced by rename. The log of an intact one is written into its file first;
 * a damaged one (`old` is null) keeps its log beside it.
 *
 * @throws `warehouse_locked` if another process has a damaged one open.
 */
export async function keepOld(path: string, kept: string, old: Warehouse | null): Promise<void> {
  await old?.database.exclusive((session) => session.run('CHECKPOINT'));
  if (old === null) await refuseIfOpen(path, `${kept}.spill`);
  if (old === null && existsSync(`${path}.wal`)) await rename(`${path}.wal`, `${kept}.wal`);
  // A hard link leaves no moment without a warehouse. Folders and some file systems do not support it, so rename then.
  await link(path, kept).catch(() => rename(path, kept));
}

/** Opens or creates a warehouse outside the workspace, runs the work, and checkpoints so that the file is complete. */
export async function inWarehouse<T>(
  path: string,
  catalogue: Catalogue,
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const warehouse = await openWarehouse(path, catalogue, REPLACEMENT_RESOURCES);
  try {
    const result = await work(warehouse);
    await warehouse.database.exclusive((session) => session.run('CHECKPOINT'));
    return result;
  } finally {
    await warehouse.close();
  }
}

/** Calibrates a replaced warehouse that has no calibration, records what replaced it, and publishes the replica. */
export async function publishReplaced(context: Context, kind: RunKind): Promise<void> {
  const { clock, trigger = 'command' } = context;
  await withWarehouse(context, REPLACEMENT_RESOURCES, async ({ warehouse, layout, copy }) => {
    const { catalogue, database } = warehouse;
    await calibrateConventions(database, { catalogue, now: clock.now(), onlyIfNone: true }).catch(() => undefined);
    await warehouse.recordRun({ kind, trigger }, clock.now());
    await publish(warehouse, layout, copy);
  });
}

function throwIfLocked(thrown: unknown): void {
  if (thrown instanceof SightlineError && thrown.code === 'warehouse_locked') throw thrown;
}

// Checks that no process has a warehouse open for writing; ignores other errors. Throws `warehouse_locked`.
async function refuseIfOpen(path: string, spill: string): Promise<void> {
  if (!existsSync(path)) return;
  try {
    const instance = await openReadOnly(path, { memoryLimitMb: 64, spill });
    instance.closeSync();
  } catch (thrown) {
    if (thrown instanceof SightlineError && thrown.code === 'warehouse_locked') throw thrown;
  }
}
