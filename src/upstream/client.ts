import type { Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import { createDispatcher, proxyStatus } from '../base/dispatcher.ts';
import { isRecord } from '../base/json.ts';
import { inSpan, type Span } from '../base/trace.ts';
import { BodyError } from '../contract/body.ts';
import type { Implausible } from '../contract/implausible.ts';
import { parseBody } from '../contract/plausibility/page-work.ts';
import { believeRetryAfter, readRateHeaders } from '../contract/plausibility/rate-headers.ts';
import type { Attempt, Request } from '../contract/request.ts';
import type { Budget } from './budget/budget.ts';
import { GATE_JITTER_MS, RETRY_AFTER_MS_MAX } from './budget/send-record.ts';
import { decodeBody } from './decode-body.ts';
import { type Refusal, statusError, UpstreamError } from './errors.ts';
import { networkError } from './network.ts';

/** Maximum attempts of a request, not counting 429 responses. */
const ATTEMPTS_MAX = 5;
/** Maximum 429 responses to one request. */
const RATE_LIMITED_MAX = 12;
/** First and maximum upper bound of the random wait between attempts. */
const BACKOFF_MS_FIRST = 500;
const BACKOFF_MS_MAX = 30_000;
/** Wait after a 429 without Retry-After. */
const RETRY_AFTER_MS_DEFAULT = 5_000;
/** Minimum wait after a 429. It doubles with each further 429 of the request, up to the length of upstream's window. */
const REFUSED_MS_FIRST = 500;
const REFUSED_MS_MAX = 60_000;
/** Maximum size of an error body that is parsed. */
const REFUSAL_BYTES_MAX = 64 * 1024;
/** Maximum length of an upstream message in our messages. */
const SAID_CHARACTERS_MAX = 200;

/** HTTP date in the form that servers must send. */
const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Limits of one request and its response. */
export interface ClientLimits {
  readonly connectMs: number;
  readonly headersMs: number;
  /** Maximum pause within a body, and maximum duration of request and response. */
  readonly bodyMs: number;
  readonly totalMs: number;
  readonly bodyBytesMax: number;
}

/** Default limits. */
export const CLIENT_LIMITS: ClientLimits = {
  connectMs: 10_000,
  headersMs: 30_000,
  bodyMs: 30_000,
  totalMs: 120_000,
  bodyBytesMax: 32 * 1024 * 1024,
};

/** A response whose body was read. */
export interface Answer<T> {
  readonly value: T;
  /** Upstream's time (Date header) in epoch milliseconds; null if missing or malformed. */
  readonly date: number | null;
}

/** Decoded bytes of a body; `isDamaged` if invalid UTF-8 was replaced by U+FFFD. */
export interface BodyText {
  readonly bytes: Uint8Array;
  readonly isDamaged: boolean;
}

/** Bytes of a body, and the header that may name the next page of a list. */
export interface ResponseText extends BodyText {
  /** Header Link, or null. */
  readonly link: string | null;
}

const EMPTY_LIST = new TextEncoder().encode('[]');

/** HTTP client for upstream. All requests to upstream go through it. */
export interface Client {
  /**
   * Sends the request, retries transient failures, and converts the JSON body with `read`, which also gets the bytes. A BodyError
   * thrown by `read` counts as a failed attempt. `onAttempt` is called after each attempt.
   * @throws UpstreamError if the request fails and is not retried again
   * @throws the signal's reason if the signal is aborted
   * @example await client.get({ path: '/brands', query: {} }, (body) => body, { signal })
   */
  get<T>(
    request: Request,
    read: (body: unknown, text: ResponseText) => T,
    options: { signal: AbortSignal; onAttempt?: (attempt: Attempt) => void },
  ): Promise<Answer<T>>;
  close(): Promise<void>;
}

/** Base URL, key and dependencies of a client. */
export interface ClientOptions {
  /** Root of the versioned API, without a trailing slash. */
  readonly baseUrl: string;
  readonly key: string;
  readonly keyHeader: 'authorization' | 'x-api-key';
  /** The proxy through which requests are sent; default: none. */
  readonly proxy?: URL | null;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly connections: number;
  readonly limits?: ClientLimits;
}

/** Creates a client. Sockets are opened on the first request. */
export function createClient(options: ClientOptions): Client {
  const { budget, clock, key, proxy = null, limits = CLIENT_LIMITS } = options;
  const base = new URL(options.baseUrl);
  const dispatcher = createDispatcher(proxy, {
    connections: options.connections,
    connect: { timeout: limits.connectMs },
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.bodyMs,
    maxResponseSize: limits.bodyBytesMax,
  });
  const headers = {
    accept: 'application/json',
    'user-agent': 'sightline',
    ...(options.keyHeader === 'x-api-key' ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }),
  };
  const redact = (text: string): string => text.replaceAll(key, 'gsk_…');
  const connection = { dispatcher, proxy, base, headers, limits, budget, clock, redact };
  return {
    // Trace headers are not sent to upstream.
    get: (request, read, { signal, onAttempt }) => {
      const values = { 'http.request.method': 'GET', 'url.template': request.route, 'server.address': base.hostname };
      const work = (span: Span) => {
        const note = (attempt: Attempt): void => {
          noteAttempt(span, attempt);
          onAttempt?.(attempt);
        };
        return send(connection, request, read, { signal, onAttempt: note });
      };
      return inSpan(`GET ${request.route ?? ''}`.trim(), values, work, 'CLIENT');
    },
    close: () => dispatcher.destroy(),
  };
}

interface Connection {
  readonly dispatcher: Dispatcher;
  readonly proxy: URL | null;
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: ClientLimits;
  readonly budget: Budget;
  readonly clock: Clock;
  /** Removes the API key from a text. */
  readonly redact: (text: string) => string;
}

type Read<T> = (body: unknown, text: ResponseText) => T;

// Sends a request until it succeeds, cannot be retried, or has used up its attempts.
async function send<T>(
  connection: Connection,
  request: Request,
  read: Read<T>,
  { signal, onAttempt }: Omit<Run, 'attempt'>,
): Promise<Answer<T>> {
  const { clock } = connection;
  let failures = 0;
  let refusals = 0;
  for (let attempt = 1; ; attempt++) {
    const outcome = await sendOnce(connection, request, read, { signal, onAttempt, attempt });
    if (!('error' in outcome)) return outcome;
    const { error } = outcome;
    const waitMs = error.retryAfterMs ?? 0;
    if (error.status === 429) {
      refusals += 1;
      closeGate(connection, error, refusals);
    } else failures += 1;
    const givenUp = failures >= ATTEMPTS_MAX || refusals >= RATE_LIMITED_MAX || waitMs > RETRY_AFTER_MS_MAX;
    if (!error.retryable || givenUp) throw error;
    if (error.status === 429) continue;
    const bound = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** (failures - 1));
    await clock.sleep(Math.max(waitMs, clock.random() * bound), signal);
  }
}

async function sendOnce<T>(
  { dispatcher, proxy, base, headers, limits, budget, clock, redact }: Connection,
  request: Request,
  read: Read<T>,
  { signal, onAttempt, attempt }: Run,
): Promise<Outcome<T>> {
  const slot = await budget.acquire(signal);
  const sentAt = clock.now();
  const startedAt = clock.monotonic();
  let status: number | null = null;
  let bytes = 0;
  let error: UpstreamError | null = null;
  let reading = false;
  const implausible: Implausible[] = [];
  try {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(limits.totalMs)]);
    const target = targetOf(base, request);
    const head = await dispatcher.request({
      origin: base.origin,
      method: 'GET',
      path: target,
      headers,
      signal: deadline,
    });
    status = head.statusCode;
    if (status === 407 && proxy !== null) {
      await head.body.dump();
      throw new UpstreamError('unreachable', proxyStatus(status, proxy));
    }
    const { limit, remaining, implausible: ignored } = readRateHeaders(head.headers);
    implausible.push(...ignored);
    slot.answered({ limit, remaining: status === 200 ? remaining : null });
    const received = await head.body.bytes();
    bytes = received.length;
    const body = await decodeBody(received, head.headers['content-encoding'], limits.bodyBytesMax);
    reading = true;
    const date = toDate(head.headers['date']);
    implausible.push(...malformedDate(head.headers['date'], date));
    // An empty list without a body.
    const content = status === 204 ? EMPTY_LIST : body;
    if (status === 200 || status === 204) {
      const { value, isDamaged } = parseBody(content);
      if (isDamaged) implausible.push({ path: 'body', allowed: 'UTF-8', value: 'invalid UTF-8' });
      const link = [head.headers['link'] ?? []].flat().join(', ') || null;
      return { value: read(value, { bytes: content, isDamaged, link }), date };
    }
    const retryAfter = head.headers['retry-after'];
    const { waitMs, implausible: ignoredWait } = believeRetryAfter(
      retryAfter,
      toRetryAfterMs(retryAfter, date ?? clock.now()),
    );
    implausible.push(...ignoredWait);
    throw statusError(status, redact(request.path), refusalOf(body, redact), waitMs);
  } catch (thrown) {
    slot.failed();
    signal.throwIfAborted();
    error = toUpstreamError(thrown, redact(request.path));
    if (error === null && reading) throw thrown;
    error ??= networkError(thrown, base, proxy);
    return { error };
  } finally {
    const { waitedMs } = slot;
    const tookMs = clock.monotonic() - startedAt;
    const isAnswer = request.mayReject === true && error?.isRejection === true;
    const failure = isAnswer ? null : (error?.message ?? null);
    const sent = { ...request, sentAt, status, attempt, waitedMs, tookMs, bytes, error: failure };
    onAttempt?.(implausible.length === 0 ? sent : { ...sent, implausible });
  }
}

// Stops all requests of the key after a 429, with jitter. Repeated 429s of a request double the minimum wait regardless of
// Retry-After, because other users of the key may use the freed requests.
function closeGate({ budget, clock }: Connection, { retryAfterMs }: UpstreamError, refusals: number): void {
  const asked = retryAfterMs ?? RETRY_AFTER_MS_DEFAULT;
  const waitMs = Math.max(asked, Math.min(REFUSED_MS_MAX, REFUSED_MS_FIRST * 2 ** (refusals - 1)));
  if (asked <= RETRY_AFTER_MS_MAX) budget.closeGate(waitMs + clock.random() * GATE_JITTER_MS);
}

function noteAttempt(span: Span, { status, attempt, waitedMs, tookMs, bytes, error }: Attempt): void {
  span.set({ 'http.response.status_code': status, 'http.response.body.size': bytes });
  if (attempt > 1) span.set({ 'http.request.resend_count': attempt - 1 });
  if (attempt === 1 && error === null) return;
  span.event(error === null ? 'answered' : 'failed attempt', { attempt, status, waitedMs, tookMs });
}

interface Run {
  readonly signal: AbortSignal;
  readonly onAttempt: ((attempt: Attempt) => void) | undefined;
  readonly attempt: number;
}

type Outcome<T> = Answer<T> | { readonly error: UpstreamError };

function malformedDate(header: string | string[] | undefined, date: number | null): Implausible[] {
  if (header === undefined || date !== null) return [];
  return [{ path: 'header date', allowed: 'one date such as Sun, 22 Nov 2026 07:00:00 GMT', value: header }];
}

function targetOf(base: URL, request: Request): string {
  const query = new URLSearchParams(request.query).toString();
  return `${base.pathname.replace(/\/+$/, '')}${request.path}${query === '' ? '' : `?${query}`}`;
}

function toUpstreamError(thrown: unknown, target: string): UpstreamError | null {
  if (thrown instanceof UpstreamError) return thrown;
  if (!(thrown instanceof BodyError)) return null;
  const { retryable } = thrown;
  const message = `upstream's response to ${target} is not valid: ${thrown.message}`;
  return new UpstreamError('bad_answer', message, { status: 200, retryable, cause: thrown });
}

// Only the error envelope is quoted, because an HTML page does not help the user.
function refusalOf(bytes: Uint8Array, redact: (text: string) => string): Refusal {
  const textOf = (value: unknown): string => (typeof value === 'string' ? excerpt(redact(value)) : '');
  const nothing = { code: '', message: '' };
  if (bytes.length > REFUSAL_BYTES_MAX) return nothing;
  try {
    const body = parseBody(bytes).value;
    const error = isRecord(body) ? (body['error'] ?? body) : undefined;
    return isRecord(error)
      ? { code: textOf(error['code']), message: textOf(error['message']) }
      : { code: '', message: textOf(error) };
  } catch (thrown) {
    if (thrown instanceof BodyError) return nothing;
    throw thrown;
  }
}

// Shortens a message whose secrets are already removed. Shortening first could leave half a key.
function excerpt(message: string): string {
  return message
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, SAID_CHARACTERS_MAX);
}

/**
 * Parses an HTTP date in the form that servers must send (IMF-fixdate, RFC 9110, 5.6.7), such as
 * `Sun, 22 Nov 2026 07:00:00 GMT`. Returns epoch milliseconds, or null for obsolete forms, wrong weekdays and invalid days.
 */
export function toDate(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string' || !IMF_FIXDATE.test(header)) return null;
  const date = Date.parse(header);
  // Date.parse() accepts 31 February and any weekday; comparing with toUTCString() rejects both.
  return !Number.isNaN(date) && new Date(date).toUTCString() === header ? date : null;
}

/**
 * Parses a Retry-After header: seconds or an HTTP date (RFC 9110, 10.2.3). Returns milliseconds from `now`, or null. Proxies repeat
 * headers: equal values are one.
 */
export function toRetryAfterMs(header: string | string[] | undefined, now: number): number | null {
  const lines = [header ?? []].flat();
  const values = new Set(
    lines.flatMap((line) => (/^[\d.,\s]*$/.test(line) ? line.split(',') : [line])).map((text) => text.trim()),
  );
  const [value, ...others] = values;
  if (value === undefined || others.length > 0) return null;
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000);
  const date = toDate(value);
  return date === null ? null : Math.max(0, date - now);
}
