import { toSightlineError } from '../base/errors.ts';
import { checkConditions } from '../snapshot/store-conditions.ts';
import type { Finding, Patient } from './doctor-finding.ts';
import { homeState, openHomeStore, refreshCopy } from './home.ts';

/**
 * Whether a home beyond the folder answers, keeps the conditions on which workers are kept apart, and who has the workspace
 * checked out. What was checked in last is brought, for the checks that follow.
 */
export async function checkHome({ context, isOffline }: Patient): Promise<Finding[]> {
  const { config, clock, signal } = context;
  const { home } = config;
  if (home.kind === 'local') return [{ status: 'ok', message: 'the data folder is the home of the warehouse' }];
  if (isOffline) return [{ status: 'ok', message: `s3://${home.bucket} is not asked, with --offline` }];
  try {
    const store = await openHomeStore(config, signal);
    try {
      await checkConditions(store);
    } finally {
      store.close();
    }
    const state = await homeState({ config, clock });
    await refreshCopy({ config, clock });
    const can = `${store.location} can be read and written to, each write on its condition`;
    if (state === null) return [{ status: 'ok', message: `${can}; nothing was checked in yet` }];
    const { claim, savedAt, epoch } = state;
    const saved = savedAt === null ? 'nothing was checked in yet' : `checked in last at ${savedAt}`;
    const held = claim === null ? 'nobody has it' : `${claim.holder} has it, until ${claim.until}`;
    return [{ status: 'ok', message: `${can}; epoch ${epoch}, ${saved}; ${held}` }];
  } catch (thrown) {
    const { code, message } = toSightlineError(thrown);
    if (code !== 'home_failed') throw thrown;
    const advice = 'Until that is put right nothing is synced or exported; reading goes on with the copy that is here.';
    return [{ status: 'failure', message, advice }];
  }
}
