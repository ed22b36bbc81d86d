import type { QueueAddress } from '../../base/config/runner-settings.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import { codeOf, toDatabaseFailure } from '../../base/postgres-errors.ts';

const NETWORK = /^E[A-Z_]{4,}$/;
/** Words in driver messages that mean a lost connection or a timeout. */
const LOST = /connect|terminat|timeout|timed out|closed|socket/i;

/** Thrown while the queue's database does not answer. Its code is one that BullMQ treats as temporary. */
export class AwayError extends Error {
  readonly code = 'ECONNREFUSED';

  /** State of the database as a predicate, such as "does not answer". */
  readonly what: string;

  constructor(detail: string, what = 'does not answer') {
    super(`ECONNREFUSED: ${detail}`);
    this.name = 'AwayError';
    this.what = what;
  }
}

/**
 * Converts a driver's error into one without the password. A temporary failure becomes an `AwayError`. Never throws.
 */
export function toQueueError(thrown: unknown, address: QueueAddress): Error {
  if (thrown instanceof AwayError || thrown instanceof SightlineError) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code = codeOf(thrown);
  const { what, passes: mayPass, isReported } = toDatabaseFailure(thrown);
  const passes = isReported ? mayPass : NETWORK.test(code) || LOST.test(error.message);
  if (passes) return new AwayError(hide(NETWORK.test(code) && !isReported ? code : error.message, address), what);
  // Keep the error object: BullMQ reads the code and detail of errors that its own SQL functions raise.
  return Object.assign(error, { message: hide(error.message, address) });
}

/**
 * Converts an error of the queue into the error of the command: `queue_unreachable` if the database or the network
 * caused it.
 */
export function toRunnerError(thrown: unknown, address: QueueAddress): SightlineError {
  if (thrown instanceof SightlineError) return thrown;
  const error = toQueueError(thrown, address);
  // An error that comes neither from the network nor from the database is a bug.
  if (!(error instanceof AwayError) && codeOf(error) === '' && error.name !== 'ReplyError')
    return toSightlineError(error);
  const what = error instanceof AwayError ? error.what : 'refuses';
  const detail = error.message.replace(/^ECONNREFUSED: /, '');
  return new SightlineError('queue_unreachable', `the queue database of ${address.urlVariable} ${what} (${detail})`);
}

// Drivers put the address into their messages. Remove the password.
function hide(text: string, { url }: QueueAddress): string {
  const { password } = new URL(url);
  if (password === '') return text;
  return text.replaceAll(decodeURIComponent(password), '…').replaceAll(password, '…');
}
