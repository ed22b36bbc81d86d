import type { ServerResponse } from 'node:http';
import { type ErrorCode, type ErrorFacts, errorTable, SightlineError, toSightlineError } from '../../base/errors.ts';
import { ERRORS_PATH } from './paths.ts';

/** Retry-After in seconds if the read server is overloaded, or has no data yet. */
const OVERLOADED_RETRY_SECONDS = 1;
const NO_DATA_RETRY_SECONDS = 10;

/** An error with its own headers, such as Retry-After or Allow. */
export class Refusal extends SightlineError {
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    facts: ErrorFacts = {},
  ) {
    super(code, message, facts);
    this.headers = headers;
  }
}

/** An error as it is sent to a client. */
export interface ErrorReply {
  readonly status: number;
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The unexpected error, for the log only; null for expected errors. */
  readonly unexpected: unknown;
}

/** Converts anything thrown to the documented envelope; errors without an HTTP status become `internal`. */
export function toErrorReply(thrown: unknown, requestId: string): ErrorReply {
  const error = fromFastify(thrown) ?? toSightlineError(thrown);
  const known = statusOf(error.code);
  const sent = known === null || error.code === 'internal' ? internalError() : error;
  return {
    status: known ?? errorTable.internal.status,
    code: sent.code,
    headers: { ...retryOf(sent), ...(sent instanceof Refusal ? sent.headers : {}) },
    body: envelope(sent, requestId),
    unexpected: sent === error ? null : thrown,
  };
}

/** Writes anything thrown as the response to a request that no route handles. */
export function writeError(response: ServerResponse, thrown: unknown, requestId: string): void {
  const { status, headers, body } = toErrorReply(thrown, requestId);
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': requestId,
    ...headers,
  });
  response.end(body);
}

/** Returns the HTTP status of an error; null if the read server never sends it. */
export function statusOf(code: ErrorCode): number | null {
  const kind = errorTable[code];
  return 'status' in kind ? kind.status : null;
}

/** Returns the documented error body as JSON. `docUrl` is relative to the server. */
export function envelope({ code, message, facts }: SightlineError, requestId: string): string {
  return JSON.stringify({ error: { code, message, requestId, ...facts, docUrl: `${ERRORS_PATH}#${code}` } });
}

/** Returns the error for a client that exceeded a rate limit. */
export function tooMany(what: string, seconds: number): Refusal {
  const wait = `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
  return new Refusal('rate_limited', `${what} Try again in ${wait}.`, { 'Retry-After': String(seconds) });
}

/** Returns the error for an unknown URL, without repeating the URL, which might contain a key. */
export function nothingThere(): Refusal {
  return new Refusal('not_found', 'There is nothing at this address.');
}

function internalError(): SightlineError {
  return new SightlineError('internal', "Internal error; the server's log has the details under this requestId.");
}

function retryOf({ code }: SightlineError): Record<string, string> {
  if (code === 'overloaded') return { 'Retry-After': String(OVERLOADED_RETRY_SECONDS) };
  if (code === 'no_data') return { 'Retry-After': String(NO_DATA_RETRY_SECONDS) };
  return {};
}

// Converts Fastify's own errors: bodies, which only MCP requests have, and undecodable URLs.
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
