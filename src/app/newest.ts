import { systemClock } from '../base/clock.ts';
import type { WorkspaceConfig } from '../base/config.ts';
import { SightlineError } from '../base/errors.ts';
import { agesOf, type Layout, layoutOf } from '../snapshot/layout.ts';
import { isServed } from './borrow.ts';
import { heldHome, refreshCopy } from './home.ts';

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

/**
 * Opens the copy, unless the warehouse has moved on without one, as after a crash, and nobody owns it; `open` is given the path.
 * `stale` if it is a copy older than the live file, which is in use. A copy that does not open is passed over for the live
 * file, or renewed if the workspace is served. Throws `no_data`.
 */
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
    const { renewCopy } = await import('./workspace.ts');
    await renewCopy({ config, clock: systemClock, signal, command: 'export' });
  }
  return open(layout.analytics);
}

function damagedCopy({ name }: WorkspaceConfig, cause?: unknown): SightlineError {
  const message = `the published copy of workspace ${name} is damaged; the next sync or \`sightline export\` publishes it anew`;
  return new SightlineError('no_data', message, { cause });
}

function nothingYet({ name }: WorkspaceConfig, cause?: unknown): SightlineError {
  const message = `workspace ${name} has nothing to read yet: its first sync is still running`;
  return new SightlineError('no_data', message, { cause });
}

/** The error of a workspace that was never synced. */
export function noData(config: WorkspaceConfig): SightlineError {
  return new SightlineError('no_data', `workspace ${config.name} has no data in ${config.folder}`);
}
