import { systemClock } from '../../base/clock.ts';
import { refusal } from '../../session/borrow.ts';
import { claimWorkspace } from '../../session/owner-server.ts';

/**
 * Owns a workspace while the work runs, also between steps that open the warehouse, so that no other process works on it.
 *
 * @throws `warehouse_locked` if another process or other work of this process owns it, `folder_unwritable` and
 * `owner_untrusted`.
 */
export async function runAlone<T>(folder: string, command: string, work: () => Promise<T>): Promise<T> {
  const since = new Date(systemClock.now()).toISOString();
  const claim = await claimWorkspace({ folder, command, since, forOthers: null });
  if (!claim.isOurs) throw refusal(folder, claim.owner, claim.answers);
  return work().finally(claim.release);
}
