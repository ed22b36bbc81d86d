import { randomUUID } from 'node:crypto';
import { SightlineError } from '../base/errors.ts';
import type { ObjectStore } from './object-store.ts';

/** Where it is tried what a store does; nothing stays there. */
const TRIALS = 'trials/';

/**
 * Writes an object, and tries to write it in two ways in which it must not be. Without these conditions two processes
 * could undo each other's work. Throws the code of its use for a store that takes no notice of them.
 */
export async function checkConditions(store: ObjectStore): Promise<void> {
  const key = `${TRIALS}${randomUUID()}`;
  const body = Buffer.from('tried by sightline\n');
  try {
    if (!(await store.create(key, body)))
      throw ignored(store, 'If-None-Match: an object that is not there is not written');
    if (await store.create(key, body)) throw ignored(store, 'If-None-Match: it writes over an object that is there');
    const other = '"00000000000000000000000000000000"';
    if (await store.replace(key, body, other)) throw ignored(store, 'If-Match: it writes over another version');
    const found = await store.read(key);
    if (found === null) throw ignored(store, 'what it was sent: it is not there');
    if (!(await store.replace(key, body, found.version))) {
      throw ignored(store, 'If-Match as it should: the version that it told is refused');
    }
  } finally {
    await store.remove(key);
  }
}

function ignored({ location, use }: ObjectStore, what: string): SightlineError {
  const done = use.setting === 'publish' ? 'published to' : 'shared';
  const message = `${location} cannot be ${done} safely: the store takes no notice of ${what}`;
  return new SightlineError(use.code, message);
}
