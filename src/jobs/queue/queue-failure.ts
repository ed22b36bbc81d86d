import type { QueueAddress } from '../../base/config/runner-settings.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import { codeOf, toDatabaseFailure, withoutPassword } from '../../base/postgres-errors.ts';

const NETWORK = /^E[A-Z_]{4,}$/;
/** Words in driver messages that mean a lost connection or a timeout. */
const LOST = /connect|terminat|timeout|timed out|closed|socket/i;
/** What pg-boss appends to a driver's message. */
const SOURCE = / \(Queue: .*\)$/;

/** Reports whether an error means that the queue's database does not answer now, so that the same call may succeed later. */
export function isAway(thrown: unknown): boolean {
  if (thrown instanceof SightlineError) return false;
  const { passes, isReported } = toDatabaseFailure(thrown);
  return isReported ? passes : NETWORK.test(codeOf(thrown)) || LOST.test(messageOf(thrown));
}

/** Converts an error into one of the command, without the password: `queue_unreachable` if the database caused it. */
export function toQueueError(thrown: unknown, { url, urlVariable }: QueueAddress): SightlineError {
  const code = codeOf(thrown);
  const { what, isReported } = toDatabaseFailure(thrown);
  // Any other error is a bug.
  if (thrown instanceof SightlineError || !(isReported || isAway(thrown))) return toSightlineError(thrown);
  const detail = NETWORK.test(code) ? code : withoutPassword(messageOf(thrown).replace(SOURCE, ''), url);
  return new SightlineError('queue_unreachable', `the queue database of ${urlVariable} ${what} (${detail})`);
}

// pg-boss copies errors of its workers into plain objects.
function messageOf(thrown: unknown): string {
  const { message } = (thrown ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : String(thrown);
}
