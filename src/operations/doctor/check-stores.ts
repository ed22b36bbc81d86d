import { toSightlineError } from '../../base/errors.ts';
import { shownTime } from '../../contract/time.ts';
import { POINTER, type ReadPointer, readPointer } from '../../lake/pointer.ts';
import { refreshReplica } from '../../session/remote-replica.ts';
import { openRemoteStore, remoteState } from '../../session/remote-stores.ts';
import { withStore } from '../../session/storage-location.ts';
import { readManifest } from '../../snapshot/manifest.ts';
import { checkConditions } from '../../storage/store-conditions.ts';
import { checkPublishable } from '../publish.ts';
import type { CheckContext, Finding } from './check-context.ts';

/** How far a pointer's time may be ahead of this machine's clock before a warning is reported. */
const AHEAD_MS = 5 * 60_000;

/**
 * Checks the place to which snapshots are published: reads the pointer, writes and removes a test object with
 * conditional writes, and compares the pointer with the folder's newest snapshot.
 */
export async function checkPublishing({ context, layout, isOffline }: CheckContext): Promise<Finding[]> {
  const { publish } = context.config;
  if (publish.kind === 'folder') return [{ status: 'ok', message: 'snapshots are published in the data folder only' }];
  const place = publish.kind === 'iceberg' ? publish.place : publish;
  if (isOffline && place.kind === 's3')
    return [{ status: 'ok', message: `s3://${place.bucket} not checked, because of --offline` }];
  try {
    await checkPublishable(context);
    const findings = await withStore(context, async (store): Promise<Finding[]> => {
      const found = await readPointer(store);
      await checkConditions(store);
      const here = await readManifest(layout.latest);
      return [judge(store.location, found, here, context.clock.now())];
    });
    return findings ?? [];
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    if (code !== 'publish_failed') throw thrown;
    const advice = 'Exports exit with code 1 until this is fixed; only the data folder has the newest snapshot.';
    return [{ status: 'failure', message, advice }];
  }
}

function judge(
  location: string,
  found: ReadPointer | null,
  here: { readonly id: string; readonly createdAt: string } | null,
  now: number,
): Finding {
  const can = `${location} can be read and written, with conditional writes`;
  if (found === null) {
    const message = `${can}; nothing is published there yet`;
    return here === null
      ? { status: 'ok', message }
      : { status: 'warning', message, advice: 'Run `sightline export`.' };
  }
  const { id, createdAt } = found.pointer;
  const at = Date.parse(createdAt);
  if (at > now + AHEAD_MS) {
    const message = `${location}${POINTER} points to ${id}, which is in the future of this machine's clock`;
    const advice =
      'Correct the clock of the machine that is wrong. Until then no snapshot of this machine becomes the latest.';
    return { status: 'warning', message, advice };
  }
  if (here !== null && Date.parse(here.createdAt) > at) {
    const message = `${can}; its latest snapshot is ${id}, but the data folder has ${here.id}`;
    return { status: 'warning', message, advice: 'Run `sightline export`, which publishes to both.' };
  }
  return { status: 'ok', message: `${can}; its latest snapshot is ${id}` };
}

/**
 * Checks that a remote warehouse can be read and written conditionally, and reports its lease. Downloads the replica for the
 * checks that follow.
 */
export async function checkRemote({ context, isOffline }: CheckContext): Promise<Finding[]> {
  const { config, clock, signal } = context;
  const { remote } = config;
  if (remote.kind === 'local') return [{ status: 'ok', message: 'the warehouse is in the data folder' }];
  if (isOffline) return [{ status: 'ok', message: `s3://${remote.bucket} not checked, because of --offline` }];
  try {
    const store = await openRemoteStore(config, signal);
    try {
      await checkConditions(store);
    } finally {
      store.close();
    }
    const state = await remoteState({ config, clock });
    await refreshReplica({ config, clock });
    const can = `${store.location} can be read and written, with conditional writes`;
    if (state === null) return [{ status: 'ok', message: `${can}; nothing checked in yet` }];
    const { claim, savedAt, epoch } = state;
    const saved = savedAt === null ? 'nothing checked in yet' : `last checked in at ${shownTime(savedAt)}`;
    const lease = claim === null ? 'not checked out' : `${claim.holder} has it until ${shownTime(claim.until)}`;
    return [{ status: 'ok', message: `${can}; epoch ${epoch}, ${saved}; ${lease}` }];
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    if (code !== 'remote_failed') throw thrown;
    const advice = 'Syncs and exports fail until this is fixed; reads use the local replica.';
    return [{ status: 'failure', message, advice }];
  }
}
