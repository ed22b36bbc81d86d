import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { NotifyTarget } from '../../base/config/notify-settings.ts';
import { createDispatcher, proxyRefusal } from '../../base/dispatcher.ts';
import { hideKeys } from '../../base/errors.ts';
import { lookUpPublic } from '../../base/link-local.ts';
import { VERSION } from '../../base/version.ts';
import { number, type ValueOf } from '../../contract/operation/json-parts.ts';

/** Limits of one delivery. */
export interface DeliveryLimits {
  readonly attemptsMax: number;
  /** Maximum duration of one attempt. */
  readonly attemptMs: number;
  /** Maximum duration of all attempts and waits together. */
  readonly totalMs: number;
  /** First wait between two attempts; doubles with each attempt. */
  readonly backoffMs: number;
}

/** Limits that bound how long a command waits for its message. */
export const DELIVERY_LIMITS: DeliveryLimits = {
  attemptsMax: 4,
  attemptMs: 10_000,
  totalMs: 30_000,
  backoffMs: 1_000,
};

const SAID_BYTES_MAX = 2_048;
const SAID_CHARACTERS_MAX = 200;

/** Result of a delivery. */
export const delivery = z.object({
  isDelivered: z.boolean(),
  mayRetry: z.boolean().describe('whether a later attempt may succeed'),
  attempts: number,
  status: z.int().nullable().describe('HTTP status of the last response; null if there was none'),
  said: z.string().describe('the result in words, without the address'),
});

/** Result of a delivery. */
export type Delivery = ValueOf<typeof delivery>;

/**
 * Headers that identify and sign a message, after Standard Webhooks 1.0.0
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md): the signature is
 * `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, the timestamp in seconds since the epoch.
 */
export function signatureHeaders(
  secret: Uint8Array | null,
  id: string,
  nowMs: number,
  body: string,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === null) return headers;
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}

/** Sends a message and retries within the limits if a retry may succeed. Does not throw. Does not follow redirects. */
export async function deliver(
  target: NotifyTarget,
  { id, body }: { readonly id: string; readonly body: string },
  { clock, signal, limits = DELIVERY_LIMITS }: { clock: Clock; signal: AbortSignal; limits?: DeliveryLimits },
): Promise<Delivery> {
  const startedAt = clock.monotonic();
  let last: Delivery = { isDelivered: false, mayRetry: true, attempts: 0, status: null, said: 'it was not sent' };
  for (let attempt = 1; attempt <= limits.attemptsMax && !signal.aborted; attempt++) {
    const headers = signatureHeaders(target.secret, id, clock.now(), body);
    const answer = await post(target, headers, body, limits.attemptMs, signal);
    last = { ...judge(answer), attempts: attempt };
    if (last.isDelivered || !last.mayRetry || attempt === limits.attemptsMax) return last;
    const bound = limits.backoffMs * 2 ** (attempt - 1);
    const asked = toWaitMs(answer.retryAfter, clock.now());
    const waitMs = Math.max(asked, bound / 2 + (clock.random() * bound) / 2);
    const spentMs = clock.monotonic() - startedAt;
    if (spentMs + waitMs + limits.attemptMs > limits.totalMs) return last;
    await clock.sleep(waitMs, signal).catch(() => undefined);
  }
  return last;
}

interface Answered {
  readonly status: number | null;
  readonly said: string;
  readonly retryAfter: string | undefined;
}

function judge({ status, said }: Answered): Omit<Delivery, 'attempts'> {
  if (status === null) return { isDelivered: false, mayRetry: true, status, said };
  const isDelivered = status >= 200 && status < 300;
  // https://www.rfc-editor.org/rfc/rfc9110#section-15: statuses for which a retry may succeed.
  const mayRetry = !isDelivered && (status === 408 || status === 425 || status === 429 || status >= 500);
  const redirect = status >= 300 && status < 400 ? ', a redirect, which sightline does not follow' : '';
  return { isDelivered, mayRetry, status, said: `answered ${status}${redirect}${said === '' ? '' : `: ${said}`}` };
}

async function post(
  { url, proxy }: NotifyTarget,
  signed: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Answered> {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': `sightline/${VERSION}`,
    ...signed,
  };
  const deadline = AbortSignal.timeout(timeoutMs);
  // A connection of its own: messages are rare.
  const dispatcher = createDispatcher(proxy, { connect: { lookup: lookUpPublic } });
  const { origin, pathname, search } = url;
  const target = { origin, path: `${pathname}${search}`, method: 'POST', headers, body } as const;
  try {
    const answer = await dispatcher.request({ ...target, signal: AbortSignal.any([signal, deadline]) });
    const said = await readStart(answer.body);
    const retryAfter = [answer.headers['retry-after'] ?? []].flat()[0];
    return { status: answer.statusCode, said: excerpt(withoutSignature(said, signed)), retryAfter };
  } catch (thrown) {
    const { code = 'network error' } = thrown as NodeJS.ErrnoException;
    const refusal = proxy === null ? null : proxyRefusal(thrown, proxy);
    const why = deadline.aborted
      ? `did not answer within ${timeoutMs / 1000} s`
      : `could not be reached (${refusal ?? code})`;
    return { status: null, said: signal.aborted ? 'it was stopped' : why, retryAfter: undefined };
  } finally {
    await dispatcher.destroy();
  }
}

// An error in the rest of a body does not change the result.
async function readStart(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > SAID_BYTES_MAX) break;
    }
  } catch {
    // What was received is enough.
  }
  return Buffer.concat(chunks).subarray(0, SAID_BYTES_MAX).toString();
}

// Seconds or a date: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
function toWaitMs(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, at - nowMs);
}

// Some receivers send back the headers, also with the characters of base64 escaped.
function withoutSignature(text: string, signed: Readonly<Record<string, string>>): string {
  const signature = signed['webhook-signature']?.split(',')[1];
  if (signature === undefined) return text;
  const forms = [signature, encodeURIComponent(signature), signature.replaceAll('/', '\\/')];
  return forms.reduce((shown, form) => shown.replaceAll(form, '…'), text);
}

function excerpt(text: string): string {
  return hideKeys(text)
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, SAID_CHARACTERS_MAX);
}
