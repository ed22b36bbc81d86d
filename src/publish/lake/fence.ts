import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { POINTER, type Pointer, readPointer, toBody } from './pointer.ts';

/** Attempts to change the pointer while others move it. */
const CHANGES_MAX = 30;
const PAUSE_MS = 500;

/**
 * Writes the fencing token to `latest.json`, so that a process with an earlier epoch can no longer move it. Does
 * nothing if nothing was published yet; the first publish writes its own epoch.
 * @throws `lease_lost` if a later epoch is there already, `publish_failed`
 */
export async function raiseFence(store: ObjectStore, epoch: number, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < CHANGES_MAX; attempt++) {
    const found = await readPointer(store);
    if (found === null) return;
    refuseFenced(store, found.pointer, epoch);
    if (found.pointer.fence === epoch) return;
    if (await store.replace(POINTER, toBody({ ...found.pointer, fence: epoch }), found.version)) return;
    await clock.sleep(clock.random() * PAUSE_MS, signal);
  }
  const message = `${store.location}${POINTER} was moved by others during each of ${CHANGES_MAX} attempts; try again`;
  throw new SightlineError('publish_failed', message);
}

/**
 * Returns the fencing token in `latest.json`; 0 if there is none.
 * @throws `publish_failed`
 */
export async function readFence(store: ObjectStore): Promise<number> {
  return (await readPointer(store))?.pointer.fence ?? 0;
}

/**
 * Rejects a stale fencing token. `epoch` is null for a workspace without a home.
 * @throws `lease_lost` if the pointer has a later epoch
 */
export function refuseFenced({ location }: ObjectStore, { fence = 0 }: Pointer, epoch: number | null): void {
  if (epoch === null || epoch >= fence) return;
  const message = `${location}${POINTER} is not moved: another process has checked the workspace out (epoch ${fence}, here ${epoch})`;
  throw new SightlineError('lease_lost', message);
}
