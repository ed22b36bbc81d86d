import { existsSync } from 'node:fs';
import { systemClock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config/config.ts';
import { SightlineError } from '../base/errors.ts';
import { agesOf, type Layout, layoutOf } from '../publish/snapshot/layout.ts';
import { thisProcess } from './process-driver.ts';

/**
 * Opens the newest readable data and calls `open` with its path: the replica, or the live file if that is newer and unused.
 * `stale` is true for a replica that is older than a live file in use. A damaged replica is skipped in favour of the live file.
 *
 * @throws `no_data`
 */
export async function openNewestReplicaWith<T>(
  config: WorkspaceConfig,
  layout: Layout,
  open: (path: string) => Promise<T>,
  { afterKill = 'replica' }: { readonly afterKill?: 'replica' | 'live' } = {},
): Promise<{ opened: T; stale: boolean }> {
  const isFollowed = await follow(config);
  const { copy, live } = agesOf(layout);
  if (config.home !== null && copy > 0 && !thisProcess.isEntered(config.folder)) {
    const opened = await openUnlessDamaged(layout.analytics, open);
    if (opened !== null) return { opened, stale: !isFollowed };
  }
  if (copy === 0 && live === 0) throw noData(config);
  const isOwn = thisProcess.isServed(config.folder);
  if (isOwn && copy === 0) throw nothingYet(config);
  if (copy > 0 && (isOwn || copy >= live)) {
    const opened = await openUnlessDamaged(layout.analytics, open);
    if (opened !== null) return { opened, stale: copy < live };
    if (isOwn || live === 0) throw damagedCopy(config);
  }
  // A running or killed sync may have stored only some pages of a day, which the replica does not show.
  if (afterKill === 'replica' && copy > 0 && copy < live && existsSync(layout.owner)) {
    const opened = await openUnlessDamaged(layout.analytics, open);
    if (opened !== null) return { opened, stale: true };
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
 * Opens the replica, even if the live file is newer. A damaged replica is published again.
 *
 * @throws `no_data` if the replica does not exist.
 */
export async function openReplicaWith<T>(
  config: WorkspaceConfig,
  layout: Layout,
  open: (path: string) => Promise<T>,
): Promise<T> {
  await follow(config);
  if (agesOf(layout).copy === 0) throw noData(config);
  return (await openUnlessDamaged(layout.analytics, open)) ?? openRenewed(config, layout, open);
}

// Fetches what other machines have saved in the home. Returns false if the home cannot be reached or has a conflict, and there is a replica.
async function follow(config: WorkspaceConfig): Promise<boolean> {
  // A server follows the home by itself.
  if (config.home === null || thisProcess.isServed(config.folder)) return true;
  try {
    // Loaded only for workspaces with a home.
    const { refreshReplica } = await import('./home-replica.ts');
    await refreshReplica({ config, clock: systemClock });
    return true;
  } catch (thrown) {
    if (thrown instanceof SightlineError && thrown.code === 'warehouse_locked') return true;
    if (agesOf(layoutOf(config.folder)).copy === 0) throw thrown;
    return false;
  }
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
  // Waiting could take hours, or forever if this read is part of the session.
  if (thisProcess.isInUse(config.folder)) throw damagedCopy(config);
  const { signal } = new AbortController();
  const { renewReplica } = await import('./workspace.ts');
  await renewReplica({ config, clock: systemClock, signal, command: 'export' });
  return open(layout.analytics);
}

function damagedCopy({ name }: WorkspaceConfig, cause?: unknown): SightlineError {
  const message = `the replica of workspace ${name} is damaged; the next sync or \`sightline export\` publishes it again`;
  return new SightlineError('no_data', message, { cause });
}

function nothingYet({ name }: WorkspaceConfig, cause?: unknown): SightlineError {
  const message = `workspace ${name} has nothing to read yet: its first sync is still running`;
  return new SightlineError('no_data', message, { cause });
}

/** The error for a workspace that was never synced. */
export function noData(config: WorkspaceConfig): SightlineError {
  return new SightlineError('no_data', `workspace ${config.name} has no data in ${config.folder}`);
}
