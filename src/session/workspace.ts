import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { declarations } from '../../schemas/catalogue.ts';
import { MART_SCHEMA, marts } from '../analytics/marts/marts.ts';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { isRecord } from '../base/json.ts';
import { createCatalogue } from '../contract/catalogue.ts';
import { refuseCopy } from '../remote/folder-owner.ts';
import { agesOf, type Layout, layoutOf } from '../snapshot/layout.ts';
import type { DatabaseOptions } from '../warehouse/database.ts';
import { opensAsReplica, publishAnalytics } from '../warehouse/replica.ts';
import { ensureViews } from '../warehouse/views.ts';
import { openWarehouse, type Warehouse } from '../warehouse/warehouse.ts';
import { borrowWarehouse } from './borrow.ts';
import { checkedOutRemote, withRemote } from './remote-session.ts';

/** Memory for publishing the replica without a sync, in MB. */
const COPY_MEMORY_MB = 256;

/** Every resource of the API. */
export const catalogue = createCatalogue(declarations);

/** Settings and services that a command passes to operations. */
export interface Context {
  readonly config: WorkspaceConfig;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The command of this process, shown to other processes while this one owns the warehouse. */
  readonly command: string;
  /** Starts of runs are recorded with it: `job` and the name of the job, or `program`. Default: `command`. */
  readonly trigger?: string;
  /** Called with a description of the current holder if the warehouse has to be waited for. */
  readonly onWait?: (current: string) => void;
  /** Called once with a sentence when a shared service becomes unreachable, and once when it is back. */
  readonly onTrouble?: (sentence: string) => void;
}

/** A workspace's warehouse, opened for writing. */
export interface Opened {
  readonly warehouse: Warehouse;
  readonly layout: Layout;
  /** Whether the replica has all data of the warehouse. */
  readonly copy: { isCurrent: boolean };
  /** Resolves once all committed data would survive the loss of this machine. Resolves at once for a local warehouse. */
  readonly durable: () => Promise<void>;
}

/** Publishes the replica from the warehouse when the warehouse is free. Throws like `withWarehouse`. */
export function renewReplica(context: Context): Promise<void> {
  return withWarehouse(context, { memoryLimitMb: COPY_MEMORY_MB }, ({ warehouse, layout, copy }) =>
    publish(warehouse, layout, copy),
  );
}

/** Publishes the replica. Throws `lease_lost` if another process now has the lease. */
export async function publish(warehouse: Warehouse, layout: Layout, copy: Opened['copy']): Promise<void> {
  checkedOutRemote(dirname(layout.warehouse))?.lost.throwIfAborted();
  await publishAnalytics(warehouse.database, layout.analytics);
  copy.isCurrent = true;
}

/**
 * Opens or creates a workspace's warehouse for writing, runs the work and closes it. Waits for its turn if the workspace is
 * served, and checks out a remote warehouse unless this process has done so.
 *
 * @throws `warehouse_locked` with the owner if another process does not share the warehouse, and the errors of `withRemote`.
 * @example
 * const flaws = await withWarehouse(context, { memoryLimitMb: 256 }, ({ warehouse }) =>
 *   warehouse.database.exclusive((session) => findFlaws(session.query, catalogue)),
 * );
 */
export function withWarehouse<T>(
  context: Context,
  resources: Pick<DatabaseOptions, 'memoryLimitMb' | 'threads'>,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  return withRemote(context, null, (inside) => openInTurn(inside, resources, work));
}

async function openInTurn<T>(
  context: Context,
  resources: Pick<DatabaseOptions, 'memoryLimitMb' | 'threads'>,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const { config, command, signal, onWait = () => undefined } = context;
  await ensureWritableFolder(config.folder);
  const giveBack = await borrowWarehouse({ folder: config.folder, command, signal, onWait });
  try {
    return await openAlone(context, resources, work);
  } finally {
    giveBack();
  }
}

async function openAlone<T>(
  { config, command, clock }: Context,
  resources: Pick<DatabaseOptions, 'memoryLimitMb' | 'threads'>,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const layout = layoutOf(config.folder);
  if (config.remote.kind === 'local') await refuseCopy(config.folder);
  const journal = checkedOutRemote(config.folder)?.journal ?? null;
  const owner = await readOwner(layout.owner);
  const { copy: copiedAt, live } = agesOf(layout);
  const copy = { isCurrent: copiedAt > 0 && copiedAt >= live && (await opensAsReplica(layout.analytics)) };
  const warehouse = await openWarehouse(layout.warehouse, catalogue, {
    ...resources,
    temporaryFolder: layout.temporary,
    keepsLog: journal !== null,
    describeOwner: (pid) =>
      owner !== null && (pid === null || pid === owner.pid)
        ? `\`${owner.command}\` (process ${owner.pid}, since ${owner.since})`
        : `process ${pid ?? 'unknown'}`,
  });
  const { database } = warehouse;
  const leave = journal?.follow({
    alone: (then) => database.exclusive((session) => then(async () => void (await session.run('CHECKPOINT')))),
  });
  const durable = async (): Promise<void> => journal?.durable();
  try {
    // A replica made by an earlier version has other marts, or none.
    if (await ensureViews(database, MART_SCHEMA, marts())) copy.isCurrent = false;
    const since = new Date(clock.now()).toISOString();
    await writeFile(layout.owner, `${JSON.stringify({ pid: process.pid, command: `sightline ${command}`, since })}\n`);
    const result = await work({ warehouse, layout, copy, durable });
    await durable();
    return result;
  } finally {
    await leave?.();
    if (journal === null) await checkpoint(warehouse);
    await warehouse.close();
    await rm(layout.owner, { force: true });
    await rm(layout.temporary, { recursive: true, force: true });
    if (copy.isCurrent) await markCurrent(layout);
  }
}

// Checkpoints now, because no user waits for it. If it fails, the log is applied when the file is opened next.
async function checkpoint(warehouse: Warehouse): Promise<void> {
  await warehouse.database.exclusive((session) => session.run('CHECKPOINT')).catch(() => undefined);
}

// Closing the warehouse touches its file, so update the replica's time to mark it as equally new.
async function markCurrent({ analytics }: Layout): Promise<void> {
  const now = new Date();
  await utimes(analytics, now, now);
}

/** The process that owns a warehouse, or that was killed while it owned it. */
export interface Owner {
  readonly pid: number;
  readonly command: string;
  readonly since: string;
}

/** Reads the owner file of a warehouse; null if there is none or it is damaged. */
export async function readOwner(path: string): Promise<Owner | null> {
  try {
    const owner: unknown = JSON.parse(await readFile(path, 'utf8'));
    // A process ID of 0 or less addresses a group of processes, of which some always exist.
    if (!isRecord(owner) || !Number.isSafeInteger(owner['pid']) || Number(owner['pid']) <= 0) return null;
    const { pid, command, since } = owner;
    return { pid: Number(pid), command: String(command), since: String(since) };
  } catch {
    return null;
  }
}
