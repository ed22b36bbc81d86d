import { toSightlineError } from '../../base/errors.ts';
import { openRemoteStore, refreshReplica, remoteState } from '../../session/remote-session.ts';
import { checkConditions } from '../../storage/store-conditions.ts';
import type { CheckContext, Finding } from './check-context.ts';

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
    const saved = savedAt === null ? 'nothing checked in yet' : `last checked in at ${savedAt}`;
    const lease = claim === null ? 'not checked out' : `${claim.holder} has it until ${claim.until}`;
    return [{ status: 'ok', message: `${can}; epoch ${epoch}, ${saved}; ${lease}` }];
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    if (code !== 'home_failed') throw thrown;
    const advice = 'Syncs and exports fail until this is fixed; reads use the local copy.';
    return [{ status: 'failure', message, advice }];
  }
}
