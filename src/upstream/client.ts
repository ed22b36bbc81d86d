import { Pool } from 'undici';
import type { Clock } from '../base/clock.ts';
import { isRecord } from '../base/json.ts';
import { inSpan, type Span } from '../base/trace.ts';
import { BodyError } from '../contract/body.ts';
import type { Implausible } from '../contract/implausible.ts';
import type { Attempt, Request } from '../contract/request.ts';
import { parseBody } from '../plausibility/page-work.ts';
import { believeRetryAfter, readRateHeaders } from '../plausibility/rate-headers.ts';
import type { Budget } from './budget.ts';
import { GATE_JITTER_MS, RETRY_AFTER_MS_MAX } from './budget-record.ts';
import { decodeBody } from './decode-body.ts';
import { type Refusal, statusError, UpstreamError } from './errors.ts';
import { toDate, toRetryAfterMs } from './headers.ts';
import { networkError } from './network.ts';

/** Attempts at one request before it is given up, 429 apart. */
const ATTEMPTS_MAX = 5;
/** Times one request may be told 429 before it is given up. */
const RATE_LIMITED_MAX = 12;
/** First and greatest bound of the random wait between attempts. */
const BACKOFF_MS_FIRST = 500;
const BACKOFF_MS_MAX = 30_000;
/** Wait after a 429 that names none. */
const RETRY_AFTER_MS_DEFAULT = 5_000;
/** What is waited at least after a 429, doubled for each that follows it, up to upstream's whole window. */
const REFUSED_MS_FIRST = 500;
const REFUSED_MS_MAX = 60_000;
/** Longest body of a refusal that is looked at. */
const REFUSAL_BYTES_MAX = 64 * 1024;
/** Longest excerpt of an upstream message that is repeated. */
const SAID_CHARACTERS_MAX = 200;

/** Limits of one exchange. */
export interface ClientLimits {
  readonly connectMs: number;
  readonly headersMs: number;
  /** Longest silence within a body, and longest whole exchange. */
  readonly bodyMs: number;
  readonly totalMs: number;
  readonly bodyBytesMax: number;
}

/** Limits used unless the configuration says otherwise. */
export const CLIENT_LIMITS: ClientLimits = {
  connectMs: 10_000,
  headersMs: 30_000,
  bodyMs: 30_000,
  totalMs: 120_000,
  bodyBytesMax: 32 * 1024 * 1024,
};

/** An answer that was read. */
export interface Answer<T> {
  readonly value: T;
  /** Upstream's clock (Date header), epoch milliseconds; null without a well-formed one. */
  readonly date: number | null;
}

/** The text of an answer: decoded bytes, and whether some of them are not UTF-8 and were replaced by U+FFFD. */
export interface BodyText {
  readonly bytes: Uint8Array;
  readonly isDamaged: boolean;
}

/** The one way to upstream. */
export interface Client {
  /**
   * Asks, retrying what can be retried, and reads the JSON body with `read`, which is given its bytes too. A BodyError that
   * `read` throws counts as a failed attempt. Throws an UpstreamError when it is given up, and the signal's reason when that is aborted.
   */
  get<T>(
    request: Request,
    read: (body: unknown, text: BodyText) => T,
    options: { signal: AbortSignal; onAttempt?: (attempt: Attempt) => void },
  ): Promise<Answer<T>>;
  close(): Promise<void>;
}

/** How to reach upstream. */
export interface ClientOptions {
  /** Root of the versioned API, without a slash at its end. */
  readonly baseUrl: string;
  readonly key: string;
  readonly keyHeader: 'authorization' | 'x-api-key';
  readonly budget: Budget;
  readonly clock: Clock;
  readonly connections: number;
  readonly limits?: ClientLimits;
}

/** Opens the client; sockets are opened when they are needed. */
export function createClient(options: ClientOptions): Client {
  const { budget, clock, key } = options;
  const limits = options.limits ?? CLIENT_LIMITS;
  const base = new URL(options.baseUrl);
  const pool = new Pool(base.origin, {
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

  const attemptOnce = async <T>(
    request: Request,
    read: (body: unknown, text: BodyText) => T,
    run: Run,
  ): Promise<Outcome<T>> => {
    const { signal, onAttempt, attempt } = run;
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
      const head = await pool.request({ method: 'GET', path: target, headers, signal: deadline });
      status = head.statusCode;
      const { limit, remaining, implausible: ignored } = readRateHeaders(head.headers);
      implausible.push(...ignored);
      slot.answered({ limit, remaining: status === 200 ? remaining : null });
      const received = await head.body.bytes();
      bytes = received.length;
      const body = await decodeBody(received, head.headers['content-encoding'], limits.bodyBytesMax);
      reading = true;
      const date = toDate(head.headers['date']);
      implausible.push(...malformedDate(head.headers['date'], date));
      if (status === 200) {
        const { value, isDamaged } = parseBody(body);
        if (isDamaged) implausible.push({ path: 'body', allowed: 'UTF-8', value: 'bytes that are not UTF-8' });
        return { value: read(value, { bytes: body, isDamaged }), date };
      }
      const retryAfter = head.headers['retry-after'];
      const { waitMs, implausible: unbelieved } = believeRetryAfter(
        retryAfter,
        toRetryAfterMs(retryAfter, date ?? clock.now()),
      );
      implausible.push(...unbelieved);
      throw statusError(status, redact(request.path), refusalOf(body, redact), waitMs);
    } catch (thrown) {
      slot.failed();
      signal.throwIfAborted();
      error = toUpstreamError(thrown, redact(request.path));
      if (error === null && reading) throw thrown;
      error ??= networkError(thrown, base);
      return { error };
    } finally {
      const { waitedMs } = slot;
      const tookMs = clock.monotonic() - startedAt;
      const sent = { ...request, sentAt, status, attempt, waitedMs, tookMs, bytes, error: error?.message ?? null };
      onAttempt?.(implausible.length === 0 ? sent : { ...sent, implausible });
    }
  };

  const ask = async <T>(
    request: Request,
    read: (body: unknown, text: BodyText) => T,
    { signal, onAttempt }: { signal: AbortSignal; onAttempt?: ((attempt: Attempt) => void) | undefined },
  ): Promise<Answer<T>> => {
    let failures = 0;
    let refusals = 0;
    for (let attempt = 1; ; attempt++) {
      const outcome = await attemptOnce(request, read, { signal, onAttempt, attempt });
      if (!('error' in outcome)) return outcome;
      const { error } = outcome;
      const waitMs = error.retryAfterMs ?? 0;
      if (error.status === 429) {
        refusals += 1;
        closeGate(error, refusals);
      } else failures += 1;
      const givenUp = failures >= ATTEMPTS_MAX || refusals >= RATE_LIMITED_MAX || waitMs > RETRY_AFTER_MS_MAX;
      if (!error.retryable || givenUp) throw error;
      if (error.status === 429) continue;
      const bound = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** (failures - 1));
      await clock.sleep(Math.max(waitMs, clock.random() * bound), signal);
    }
  };

  return {
    // Upstream is told nothing of the trace: what is ours to know is in its spans.
    get: (request, read, { signal, onAttempt }) => {
      const values = { 'http.request.method': 'GET', 'url.template': request.route, 'server.address': base.hostname };
      const work = (span: Span) => {
        const note = (attempt: Attempt): void => {
          noteAttempt(span, attempt);
          onAttempt?.(attempt);
        };
        return ask(request, read, { signal, onAttempt: note });
      };
      return inSpan(`GET ${request.route ?? ''}`.trim(), values, work, 'client');
    },
    close: () => pool.destroy(),
  };

  // One gate for everybody: all requests of the key wait, and they do not all come back in the same instant. Who is
  // refused again has waited too short, whatever upstream says: others may use up what becomes free.
  function closeGate({ retryAfterMs }: UpstreamError, refusals: number): void {
    const asked = retryAfterMs ?? RETRY_AFTER_MS_DEFAULT;
    const waitMs = Math.max(asked, Math.min(REFUSED_MS_MAX, REFUSED_MS_FIRST * 2 ** (refusals - 1)));
    if (asked <= RETRY_AFTER_MS_MAX) budget.closeGate(waitMs + clock.random() * GATE_JITTER_MS);
  }
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

function toUpstreamError(thrown: unknown, where: string): UpstreamError | null {
  if (thrown instanceof UpstreamError) return thrown;
  if (!(thrown instanceof BodyError)) return null;
  const { retryable } = thrown;
  const message = `upstream's answer to ${where} is not usable: ${thrown.message}`;
  return new UpstreamError('bad_answer', message, { status: 200, retryable, cause: thrown });
}

// Only the envelope is repeated: an HTML page tells a user nothing.
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

// What is left of a message once it is free of secrets: cut first, it could end in half a key.
function excerpt(message: string): string {
  return message
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, SAID_CHARACTERS_MAX);
}
