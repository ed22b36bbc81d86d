import { readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { createLocalRemote } from '../remote/local-remote.ts';
import type { CheckedOut, Remote, RemoteState } from '../remote/remote.ts';
import { layoutOf } from '../snapshot/layout.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { withStore } from './storage-location.ts';

/** The part of a command's context that a check-out needs. */
export interface RemoteContext {
  readonly config: Pick<WorkspaceConfig, 'name' | 'folder' | 'remote' | 'publish'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The command of this process, shown to other processes that have to wait. */
  readonly command: string;
}

interface SharedCheckOut {
  readonly opening: Promise<CheckedOut>;
  users: number;
  out: CheckedOut | null;
  /** Whether the check-in has begun. Later callers wait for its end and check the workspace out again. */
  isEnding: boolean;
  readonly ended: Promise<void>;
  readonly end: () => void;
}

const checkOuts = new Map<string, SharedCheckOut>();

/** This process's check-out of a remote warehouse; null if it is not checked out or the warehouse is local. */
export function checkedOutRemote(folder: string): CheckedOut | null {
  return checkOuts.get(folder)?.out ?? null;
}

/**
 * Checks a remote warehouse out, runs the work, and checks the warehouse in, even if the work throws. Nested calls share one
 * check-out. With a local warehouse it only runs the work. The context passed to the work has a signal that is also aborted
 * when the lease is lost. `via` names the task, such as queue and ID: a retry with the same name takes over the lease at once.
 *
 * @throws `warehouse_locked` if another process has the lease, `home_failed`, and `lease_lost`, which replaces the result.
 */
export async function withRemote<C extends RemoteContext, T>(
  context: C,
  via: string | null,
  work: (context: C) => Promise<T>,
): Promise<T> {
  const { config, signal } = context;
  if (config.remote.kind === 'local') return work(context);
  const { folder } = config;
  for (let other = checkOuts.get(folder); other?.isEnding === true; other = checkOuts.get(folder)) await other.ended;
  const mine = checkOuts.get(folder) ?? begin(context, via);
  checkOuts.set(folder, mine);
  mine.users += 1;
  try {
    const out = await mine.opening;
    const settled = await settle(() => work({ ...context, signal: AbortSignal.any([signal, out.lost]) }));
    // Other users in this process continue; the last one checks in.
    mine.isEnding = mine.users === 1;
    const end = mine.isEnding ? await settle(() => checkIn(context, out)) : { value: undefined };
    out.lost.throwIfAborted();
    if ('error' in settled) throw settled.error;
    if ('error' in end) throw end.error;
    return settled.value;
  } finally {
    mine.users -= 1;
    if (mine.users === 0) await finish(folder, mine);
  }
}

function begin(context: RemoteContext, via: string | null): SharedCheckOut {
  const opening = checkOut(context, via);
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const mine: SharedCheckOut = { opening, users: 0, out: null, isEnding: false, ended, end };
  opening.then(
    (out) => {
      mine.out = out;
    },
    () => undefined,
  );
  return mine;
}

async function finish(folder: string, mine: SharedCheckOut): Promise<void> {
  mine.isEnding = true;
  try {
    await mine.out?.release();
  } finally {
    checkOuts.delete(folder);
    mine.end();
  }
}

async function checkOut(context: RemoteContext, via: string | null): Promise<CheckedOut> {
  const { config, clock, signal, command } = context;
  const remote = await openRemote(context);
  try {
    const name = `\`sightline ${command}\` on ${hostname()} (process ${process.pid})`;
    const out = await remote.checkOut({ name, via }, signal);
    try {
      await fencePublished(config, out.epoch, clock, out.lost);
    } catch (thrown) {
      await out.release();
      throw thrown;
    }
    return out;
  } finally {
    remote.close();
  }
}

// Revokes the right of earlier lease holders to publish.
async function fencePublished(
  config: RemoteContext['config'],
  epoch: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  await withStore({ config, signal }, async (store) => {
    const { raiseFence } = await import('../lake/fence.ts');
    await raiseFence(store, epoch, clock, signal);
  });
}

async function checkIn({ config }: RemoteContext, out: CheckedOut): Promise<void> {
  const { analytics, warehouse } = layoutOf(config.folder);
  const modified = async (path: string): Promise<number> => (await stat(path).catch(() => null))?.mtimeMs ?? 0;
  const live = Math.max(await modified(warehouse), await modified(`${warehouse}.wal`));
  const isCurrent = (await modified(analytics)) >= live && live > 0;
  const version = await out.checkIn();
  if (!isCurrent || version === null) return;
  // Checkpointing touched the warehouse file after the replica was made, but their content is the same.
  const now = new Date();
  await utimes(analytics, now, now);
  await noteVersion(config.folder, version);
}

type Settled<T> = { readonly value: T } | { readonly error: unknown };

async function settle<T>(work: () => Promise<T>): Promise<Settled<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

/** Opens the warehouse's location, local or remote; the caller closes it. Throws `config_invalid`. */
export async function openRemote({ config, clock }: Pick<RemoteContext, 'config' | 'clock'>): Promise<Remote> {
  const { remote, folder } = config;
  const layout = layoutOf(folder);
  if (remote.kind === 'local') return createLocalRemote(layout);
  const { createStoreRemote } = await import('../remote/remote-store.ts');
  const kept = {
    files: [layout.jobLog, layout.notifications].map((path) => basename(path)),
    folders: [basename(layout.raw)],
  };
  const toldEpoch = async (signal: AbortSignal): Promise<number> => {
    const { readFence } = await import('../lake/fence.ts');
    return (await withStore({ config, signal }, readFence)) ?? 0;
  };
  return createStoreRemote({ open: (signal) => openRemoteStore(config, signal), layout, kept, clock, toldEpoch });
}

/** Opens the object store folder of a remote warehouse. Throws `config_invalid`. */
export async function openRemoteStore(
  { remote, name }: Pick<WorkspaceConfig, 'remote' | 'name'>,
  signal: AbortSignal,
): Promise<ObjectStore> {
  if (remote.kind === 'local') throw new SightlineError('internal', 'a local warehouse is not in an object store');
  const { openS3Store } = await import('../storage/s3-store.ts');
  const { HOUSING } = await import('../storage/object-store.ts');
  return openS3Store(remote, { folder: `${name}/home`, signal, use: HOUSING });
}

/** State of a remote warehouse; null if it was never checked out or the warehouse is local. Throws `home_failed`. */
export async function remoteState(context: Pick<RemoteContext, 'config' | 'clock'>): Promise<RemoteState | null> {
  const remote = await openRemote(context);
  try {
    return await remote.state();
  } finally {
    remote.close();
  }
}

/**
 * Downloads the replica of a remote warehouse if a newer version was checked in. Returns whether the replica changed. Does
 * nothing if the warehouse is local or this process has checked it out. With `isDamaged` it downloads even the same version.
 *
 * @throws `home_failed`
 */
export async function refreshReplica(
  context: Pick<RemoteContext, 'config' | 'clock'>,
  { isDamaged = false }: { isDamaged?: boolean } = {},
): Promise<boolean> {
  const { remote, folder } = context.config;
  if (remote.kind === 'local' || checkOuts.has(folder)) return false;
  const { analytics } = layoutOf(folder);
  const isThere = !isDamaged && (await stat(analytics).catch(() => null)) !== null;
  const opened = await openRemote(context);
  try {
    const fetched = await opened.fetchCopy(analytics, isThere ? await readVersion(folder) : null);
    if (fetched?.isNew !== true) return false;
    const savedAt = new Date(fetched.savedAt);
    await utimes(analytics, savedAt, savedAt);
    await noteVersion(folder, fetched.version);
    return true;
  } finally {
    opened.close();
  }
}

// Records which version of the remote warehouse the replica is.
function versionPath(folder: string): string {
  return join(folder, 'copy.json');
}

async function readVersion(folder: string): Promise<string | null> {
  try {
    const noted: unknown = JSON.parse(await readFile(versionPath(folder), 'utf8'));
    return isRecord(noted) && typeof noted['version'] === 'string' ? noted['version'] : null;
  } catch {
    return null;
  }
}

function noteVersion(folder: string, version: string): Promise<void> {
  return writeFile(versionPath(folder), `${JSON.stringify({ version })}\n`);
}
