import { SightlineError, toSightlineError } from '../base/errors.ts';
import { codeOf, toDatabaseFailure } from '../base/postgres-errors.ts';
import type { QueueAddress } from '../base/runner-settings.ts';

const NETWORK = /^E[A-Z_]{4,}$/;
/** How drivers say in words that a connection was lost, or no answer came. */
const LOST = /connect|terminat|timeout|timed out|closed|socket/i;

/** That the queue's database does not answer now, in the one form in which the queue takes it for what passes. */
export class AwayError extends Error {
  readonly code = 'ECONNREFUSED';

  /** What the database did, as a predicate. */
  readonly what: string;

  constructor(said: string, what = 'does not answer') {
    super(`ECONNREFUSED: ${said}`);
    this.name = 'AwayError';
    this.what = what;
  }
}

/** What a driver threw, without what it was given: as an error that passes where it is one. Never throws. */
export function toQueueError(thrown: unknown, address: QueueAddress): Error {
  if (thrown instanceof AwayError || thrown instanceof SightlineError) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code = codeOf(thrown);
  const { what, passes: mayPass, isReported } = toDatabaseFailure(thrown);
  const passes = isReported ? mayPass : NETWORK.test(code) || LOST.test(error.message);
  if (passes) return new AwayError(hide(NETWORK.test(code) && !isReported ? code : error.message, address), what);
  // The queue reads code and detail of what its own functions refuse.
  return Object.assign(error, { message: hide(error.message, address) });
}

/** The error that a command ends with: whether the database does not answer, or refuses. */
export function toRunnerError(thrown: unknown, address: QueueAddress): SightlineError {
  if (thrown instanceof SightlineError) return thrown;
  const error = toQueueError(thrown, address);
  // What neither the network nor the database says is a fault of ours.
  if (!(error instanceof AwayError) && codeOf(error) === '' && error.name !== 'ReplyError')
    return toSightlineError(error);
  const what = error instanceof AwayError ? error.what : 'refuses';
  const said = error.message.replace(/^ECONNREFUSED: /, '');
  return new SightlineError(
    'queue_unreachable',
    `the database of ${address.urlVariable}, which holds the queue, ${what} (${said})`,
  );
}

// Drivers name whom they could not reach or log in as; the address is somebody else's business.
function hide(text: string, { url }: QueueAddress): string {
  const { password } = new URL(url);
  if (password === '') return text;
  return text.replaceAll(decodeURIComponent(password), '…').replaceAll(password, '…');
}
