import { randomUUID } from 'node:crypto';
import { SightlineError } from '../../base/errors.ts';
import type { ObjectStore } from './object-store.ts';

/** Prefix of the trial objects, which are removed again. */
const TRIALS = 'trials/';

/**
 * Checks that a store enforces the conditions of writes, by two writes that must fail. Without these conditions two
 * processes could overwrite each other's work.
 * @throws `publish_failed` if it does not enforce them
 */
export async function checkConditions(store: ObjectStore): Promise<void> {
  const key = `${TRIALS}${randomUUID()}`;
  const body = Buffer.from('tried by sightline\n');
  try {
    if (!(await store.create(key, body))) throw unsafe(store, 'rejects If-None-Match for a new object');
    if (await store.create(key, body)) throw unsafe(store, 'ignores If-None-Match and overwrites an object');
    const other = '"00000000000000000000000000000000"';
    if (await store.replace(key, body, other)) throw unsafe(store, 'ignores If-Match and overwrites another version');
    const found = await store.read(key);
    if (found === null) throw unsafe(store, 'does not have an object that it accepted');
    if (!(await store.replace(key, body, found.version))) {
      throw unsafe(store, 'rejects If-Match with the version that it returned');
    }
  } finally {
    await store.remove(key);
  }
}

function unsafe({ location }: ObjectStore, what: string): SightlineError {
  return new SightlineError('publish_failed', `${location} cannot be published to safely: the store ${what}`);
}
