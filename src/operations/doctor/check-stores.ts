import { toSightlineError } from '../../base/errors.ts';
import { shownTime } from '../../contract/time.ts';
import { POINTER, type ReadPointer, readPointer } from '../../publish/lake/pointer.ts';
import { readManifest } from '../../publish/snapshot/manifest.ts';
import { checkConditions } from '../../publish/storage/store-conditions.ts';
import { readHome } from '../../workspace/home-folder.ts';
import { refreshReplica } from '../../workspace/home-replica.ts';
import { withStore } from '../../workspace/storage-location.ts';
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
  if (isOffline) return [{ status: 'ok', message: `s3://${publish.bucket} not checked, because of --offline` }];
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

/** Checks that the home of the workspace can be read, and reports its lease. Publishes the replica for the checks that follow. */
export async function checkHome({ context, isOffline }: CheckContext): Promise<Finding[]> {
  const { config, clock, signal } = context;
  const { home } = config;
  if (home === null) return [{ status: 'ok', message: 'the data folder keeps the warehouse' }];
  if (isOffline) return [{ status: 'ok', message: `destination ${home} not checked, because of --offline` }];
  try {
    const state = await readHome(config, signal);
    await refreshReplica({ config, clock });
    if (state === null) return [{ status: 'ok', message: `destination ${home} has no data of the workspace yet` }];
    const { lease, savedAt, position } = state;
    const saved = savedAt === null ? 'nothing saved yet' : `last saved at ${shownTime(savedAt)}`;
    const owner = lease === null ? 'not in use' : `in use by ${lease.holder} until ${shownTime(lease.until)}`;
    return [{ status: 'ok', message: `destination ${home}: position ${position}, ${saved}; ${owner}` }];
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    if (!['destination_failed', 'extension_missing', 'home_conflict'].includes(code)) throw thrown;
    const advice = 'Syncs and exports fail until this is fixed; reads use the replica of the data folder.';
    return [{ status: 'failure', message, advice }];
  }
}
