import { statSync } from 'node:fs';
import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { declarations } from '../../schemas/catalogue.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import { SightlineError } from '../base/errors.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { createCatalogue } from '../contract/catalogue.ts';
import { MART_SCHEMA, marts } from '../metrics/marts/marts.ts';
import { opensAsReplica, publishAnalytics } from '../snapshot/analytics.ts';
import { refuseCopy } from '../snapshot/home-mark.ts';
import { type Layout, layoutOf } from '../snapshot/layout.ts';
import type { DatabaseOptions } from '../warehouse/database.ts';
import { openReader, type Reader } from '../warehouse/reader.ts';
import { ensureViews } from '../warehouse/views.ts';
import { openWarehouse, type Warehouse } from '../warehouse/warehouse.ts';
import { borrowWarehouse, isServed } from './borrow.ts';
import { heldHome, refreshCopy, withHome } from './home.ts';

/** Memory for publishing the analysts' copy alone, in MB. */
const COPY_MEMORY_MB = 256;

/** Every resource of the API. */
export const catalogue = createCatalogue(declarations);

/** What a command passes to the parts. */
export interface Context {
  readonly config: WorkspaceConfig;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The command, for the message that others get while this one owns the warehouse. */
  readonly command: string;
  /** Told what goes on, where the warehouse has to be waited for. */
  readonly onWait?: (current: string) => void;
  /** Told in a sentence, once, when what all workers share goes away, and when it is back. */
  readonly onTrouble?: (sentence: string) => void;
}

const ownedHere = new Set<string>();

/**
 * Says that work on a workspace's live file may be under way in this process at any moment, until the returned function is
 * called: whoever reads is given the copy. A second opening of the file in one process would undo the first one's lock.
 */
export function readOnlyCopies(folder: string): () => void {
  const { warehouse } = layoutOf(folder);
  ownedHere.add(warehouse);
  return () => ownedHere.delete(warehouse);
}

/** A workspace's data, opened for reading; `stale` when it is a copy older than the live file, which is in use. */
export interface Newest {
  readonly reader: Reader;
  readonly stale: boolean;
}

/**
 * Opens the copy, unless the warehouse has moved on without one, as after a crash, and nobody owns it. A copy that does not open
 * is passed over for the live file, or renewed where the workspace is served. Throws `no_data`.
 */
export async function openNewest(config: WorkspaceConfig, layout: Layout): Promise<Newest> {
  const { opened, stale } = await openNewestWith(config, layout, openReader);
  return { reader: opened, stale };
}

/** As `openNewest`, by other means: `open` is given the path. */
export async function openNewestWith<T>(
  config: WorkspaceConfig,
  layout: Layout,
  open: (path: string) => Promise<T>,
): Promise<{ opened: T; stale: boolean }> {
  if (config.home.kind !== 'local' && heldHome(config.folder) === null) return openFetched(config, layout, open);
  const { copy, live } = agesOf(layout);
  if (copy === 0 && live === 0) throw noData(config);
  const isOwn = ownedHere.has(layout.warehouse);
  if (isOwn && copy === 0) throw nothingYet(config);
  // Whoever serves it opens the live file when a job is due, and must not find a reader there.
  if (copy > 0 && (isOwn || copy >= live || (await isServed(config.folder)))) {
    const opened = await openUnlessDamaged(layout.analytics, open);
    if (opened !== null) return { opened, stale: copy < live };
    if (isOwn || live === 0) throw damagedCopy(config);
    if (await isServed(config.folder)) return { opened: await openRenewed(config, layout, open), stale: false };
  }
  try {
    return { opened: await open(layout.warehouse), stale: false };
  } catch (thrown) {
    const locked = thrown instanceof SightlineError && thrown.code === 'warehouse_locked';
    if (!locked) throw thrown;
    if (copy === 0) throw nothingYet(config, thrown);
    const opened = await openUnlessDamaged(layout.analytics, open);
    if (opened === null) throw damagedCopy(config, thrown);
    return { opened, stale: true };
  }
}

/**
 * Opens the copy, whatever the live file holds. A copy that does not open is published anew from the warehouse, or fetched anew
 * from the home elsewhere. Throws `no_data` where there is no copy.
 */
export async function openCopyWith<T>(
  config: WorkspaceConfig,
  layout: Layout,
  open: (path: string) => Promise<T>,
): Promise<T> {
  // Where the home does not answer, what is here is better than nothing.
  await refreshCopy({ config, clock: systemClock }).catch(() => undefined);
  if (agesOf(layout).copy === 0) throw noData(config);
  return (await openUnlessDamaged(layout.analytics, open)) ?? openRenewed(config, layout, open);
}

// What lies in the folder of a home elsewhere is of whenever this machine had it last.
async function openFetched<T>(
  config: WorkspaceConfig,
  layout: Layout,
  open: (path: string) => Promise<T>,
): Promise<{ opened: T; stale: boolean }> {
  let stale = false;
  try {
    await refreshCopy({ config, clock: systemClock });
  } catch (thrown) {
    if (agesOf(layout).copy === 0) throw thrown;
    stale = true;
  }
  if (agesOf(layout).copy === 0) throw noData(config);
  const opened = await openUnlessDamaged(layout.analytics, open);
  if (opened !== null) return { opened, stale };
  return { opened: await openRenewed(config, layout, open), stale: false };
}

async function openUnlessDamaged<T>(path: string, open: (path: string) => Promise<T>): Promise<T | null> {
  try {
    return await open(path);
  } catch (thrown) {
    if (thrown instanceof SightlineError && thrown.code === 'warehouse_invalid') return null;
    throw thrown;
  }
}

async function openRenewed<T>(config: WorkspaceConfig, layout: Layout, open: (path: string) => Promise<T>): Promise<T> {
  if (config.home.kind !== 'local' && heldHome(config.folder) === null) {
    await refreshCopy({ config, clock: systemClock }, { isDamaged: true });
  } else {
    const { signal } = new AbortController();
    await renewCopy({ config, clock: systemClock, signal, command: 'export' });
  }
  return open(layout.analytics);
}

/** Publishes the analysts' copy from the warehouse, once this process has its turn. Throws as `withWarehouse` does. */
export function renewCopy(context: Context): Promise<void> {
  return withWarehouse(context, { memoryLimitMb: COPY_MEMORY_MB }, ({ warehouse, layout, copy }) =>
    publish(warehouse, layout, copy),
  );
}

function damagedCopy({ name }: WorkspaceConfig, cause?: unknown): SightlineError {
  const message = `the published copy of workspace ${name} is damaged; the next sync or \`sightline export\` publishes it anew`;
  return new SightlineError('no_data', message, { cause });
}

function nothingYet({ name }: WorkspaceConfig, cause?: unknown): SightlineError {
  const message = `workspace ${name} has nothing to read yet: its first sync is still running`;
  return new SightlineError('no_data', message, { cause });
}

/** A workspace's warehouse, opened for writing. */
export interface Opened {
  readonly warehouse: Warehouse;
  readonly layout: Layout;
  /** Whether the analysts' copy holds all that the warehouse holds. */
  readonly copy: { isCurrent: boolean };
  /** Resolves once all that was committed would be there if this machine were lost; at once where its disk is the home. */
  readonly durable: () => Promise<void>;
}

/** Publishes the analysts' copy. Throws `lease_lost` where the workspace is no longer this process's. */
export async function publish(warehouse: Warehouse, layout: Layout, copy: Opened['copy']): Promise<void> {
  heldHome(dirname(layout.warehouse))?.lost.throwIfAborted();
  await publishAnalytics(warehouse.database, layout.analytics);
  copy.isCurrent = true;
}

/**
 * Opens a workspace's warehouse for writing, made if need be, and closes it after the work; waits for its turn where the
 * workspace is served, and checks it out of its home where this process has not. Throws `warehouse_locked` with who has it
 * when another process lets nobody in.
 */
export function withWarehouse<T>(
  context: Context,
  resources: Pick<DatabaseOptions, 'memoryLimitMb' | 'threads'>,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  return withHome(context, null, (inside) => openInTurn(inside, resources, work));
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
  if (config.home.kind === 'local') await refuseCopy(config.folder);
  const journal = heldHome(config.folder)?.journal ?? null;
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
    // A copy that was made before has other marts, or none.
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

// Best done while nobody waits for it; a log that stays is read when the file is opened next.
async function checkpoint(warehouse: Warehouse): Promise<void> {
  await warehouse.database.exclusive((session) => session.run('CHECKPOINT')).catch(() => undefined);
}

// Closing the warehouse touches it after the copy was made; the copy holds the same, and says so by its time.
async function markCurrent({ analytics }: Layout): Promise<void> {
  const now = new Date();
  await utimes(analytics, now, now);
}

/** Who owns a warehouse, or owned it when it was killed. */
export interface Owner {
  readonly pid: number;
  readonly command: string;
  readonly since: string;
}

/** Reads who says to own a warehouse; null when nobody does. */
export async function readOwner(path: string): Promise<Owner | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Owner;
  } catch {
    return null;
  }
}

/** The error of a workspace that was never synced. */
export function noData(config: WorkspaceConfig): SightlineError {
  return new SightlineError('no_data', `workspace ${config.name} has no data in ${config.folder}`);
}

/** When the copy and the live file changed last, epoch milliseconds; 0 for one that is not there. */
export function agesOf(layout: Layout): { copy: number; live: number } {
  const live = Math.max(modifiedAt(layout.warehouse), modifiedAt(`${layout.warehouse}.wal`));
  return { copy: modifiedAt(layout.analytics), live };
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
