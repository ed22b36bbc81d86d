import { refusal } from '../app/borrow.ts';
import { claimWorkspace } from '../app/owner.ts';
import { systemClock } from '../base/clock.ts';

/**
 * Works on a workspace while nobody else has a turn, from the first step to the last, also while no step has the warehouse
 * open. Throws `warehouse_locked` where another process owns it, or other work of this one, `folder_unwritable` and `owner_untrusted`.
 */
export async function runAlone<T>(folder: string, command: string, work: () => Promise<T>): Promise<T> {
  const since = new Date(systemClock.now()).toISOString();
  const claim = await claimWorkspace({ folder, command, since, forOthers: null });
  if (!claim.isOurs) throw refusal(folder, claim.owner, claim.answers);
  return work().finally(claim.release);
}
