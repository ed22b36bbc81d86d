import { type ErrorCode, errorTable, SightlineError, toSightlineError } from '../../base/errors.ts';

/** Seconds after which a client may ask again where the read server is short of room, or of data. */
const OVERLOADED_RETRY_SECONDS = 1;
const NO_DATA_RETRY_SECONDS = 10;

/** An error with headers of its own, such as Retry-After or Allow. */
export class Refusal extends SightlineError {
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(code, message);
    this.headers = headers;
  }
}

/** An error as a client gets it. */
export interface ErrorReply {
  readonly status: number;
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What the log gets to know and the client does not: set for errors that should not have happened. */
  readonly unexpected: unknown;
}

/** Turns anything thrown into the documented envelope; what has no HTTP status of its own is told as `internal`. */
export function toErrorReply(thrown: unknown, requestId: string): ErrorReply {
  const error = fromFastify(thrown) ?? toSightlineError(thrown);
  const known = statusOf(error.code);
  const told = known === null || error.code === 'internal' ? hidden() : error;
  return {
    status: known ?? errorTable.internal.status,
    code: told.code,
    headers: { ...retryOf(told), ...(told instanceof Refusal ? told.headers : {}) },
    body: envelope(told.code, told.message, requestId),
    unexpected: told === error ? null : thrown,
  };
}

/** The HTTP status of an error; null for one that the read server never tells. */
export function statusOf(code: ErrorCode): number | null {
  const kind = errorTable[code];
  return 'status' in kind ? kind.status : null;
}

/** The documented error body, as JSON. */
export function envelope(code: ErrorCode, message: string, requestId: string): string {
  return JSON.stringify({ error: { code, message, requestId } });
}

/** The refusal of a client that asked too often. */
export function tooMany(what: string, seconds: number): Refusal {
  const wait = `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
  return new Refusal('rate_limited', `${what} Try again in ${wait}.`, { 'Retry-After': String(seconds) });
}

/** The refusal of an address that names nothing; it does not repeat the address, which might hold a key. */
export function nothingThere(): Refusal {
  return new Refusal('not_found', 'There is nothing at this address.');
}

function hidden(): SightlineError {
  return new SightlineError('internal', "Something went wrong; the server's log says what, under this requestId.");
}

function retryOf({ code }: SightlineError): Record<string, string> {
  if (code === 'overloaded') return { 'Retry-After': String(OVERLOADED_RETRY_SECONDS) };
  if (code === 'no_data') return { 'Retry-After': String(NO_DATA_RETRY_SECONDS) };
  return {};
}

// What Fastify itself refuses: bodies, which only MCP requests have, and addresses it cannot read.
function fromFastify(thrown: unknown): SightlineError | null {
  const { code, statusCode } = (thrown ?? {}) as { code?: unknown; statusCode?: unknown };
  if (typeof code !== 'string' || !code.startsWith('FST_ERR_')) return null;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Refusal('body_too_large', 'The body of the request is larger than 1 MB.');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return nothingThere();
    default:
      return Number(statusCode) < 500 ? new Refusal('bad_request', 'The request cannot be read.') : null;
  }
}
