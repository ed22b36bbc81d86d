import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import type { ObjectStore } from './object-store.ts';
import { POINTER, type Pointer, readPointer, toBody } from './store-pointer.ts';

/** How often it is tried to change the pointer while others move it. */
const CHANGES_MAX = 30;
const PAUSE_MS = 500;

/**
 * Has nobody lead readers anywhere any more who has an earlier epoch of the workspace; where nothing was published yet the
 * first who does says its own. Throws `lease_lost` where a later epoch is there already.
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
  const message = `${store.location}${POINTER} was moved by others ${CHANGES_MAX} times in between`;
  throw new SightlineError('publish_failed', message);
}

/** The latest epoch of those who lead readers there; 0 where nobody has one. Throws `publish_failed`. */
export async function readFence(store: ObjectStore): Promise<number> {
  return (await readPointer(store))?.pointer.fence ?? 0;
}

/** Throws `lease_lost` where whoever has this epoch must not lead readers anywhere any more; null is of no home. */
export function refuseFenced({ location }: ObjectStore, { fence = 0 }: Pointer, epoch: number | null): void {
  if (epoch === null || epoch >= fence) return;
  const message = `${location}${POINTER} is not moved: the workspace was checked out again meanwhile (epoch ${fence}, here ${epoch})`;
  throw new SightlineError('lease_lost', message);
}
