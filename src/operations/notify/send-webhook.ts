import { createHmac } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { NotifyTarget } from '../../base/config/notify-settings.ts';
import { createDispatcher, proxyRefusal } from '../../base/dispatcher.ts';
import { lookUpPublic } from '../../base/link-local.ts';
import { VERSION } from '../../base/version.ts';
import { type Attempt, excerpt, type Send, unanswered } from './deliver.ts';

const SAID_BYTES_MAX = 2_048;

/**
 * Headers that identify and sign a message, after Standard Webhooks 1.0.0
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md): the signature is
 * `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, the timestamp in seconds since the epoch.
 */
function signatureHeaders(secret: Uint8Array | null, id: string, nowMs: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === null) return headers;
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}

/** Returns the function that posts a message to a webhook. It does not follow redirects. */
export function webhookSender(
  { url, proxy, secret }: Pick<NotifyTarget, 'url' | 'proxy' | 'secret'>,
  { id, body }: { readonly id: string; readonly body: string },
  clock: Clock,
): Send {
  return async (timeoutMs, signal) => {
    const signed = signatureHeaders(secret, id, clock.now(), body);
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
      const said = excerpt(withoutSignature(await readStart(answer.body), signed));
      const retryAfter = [answer.headers['retry-after'] ?? []].flat()[0];
      return { ...judge(answer.statusCode, said), waitMs: toWaitMs(retryAfter, clock.now()) };
    } catch (thrown) {
      const { code = 'network error' } = thrown as NodeJS.ErrnoException;
      const refusal = proxy === null ? null : proxyRefusal(thrown, proxy);
      if (signal.aborted) return unanswered('had not answered when the command was stopped');
      if (deadline.aborted) return unanswered(`did not answer within ${timeoutMs / 1000} s`);
      return unanswered(`could not be reached (${refusal ?? code})`);
    } finally {
      await dispatcher.destroy();
    }
  };
}

function judge(status: number, said: string): Omit<Attempt, 'waitMs'> {
  const isDelivered = status >= 200 && status < 300;
  // https://www.rfc-editor.org/rfc/rfc9110#section-15: statuses for which a retry may succeed.
  const mayRetry = !isDelivered && (status === 408 || status === 425 || status === 429 || status >= 500);
  const redirect = status >= 300 && status < 400 ? ', a redirect, which sightline does not follow' : '';
  return { isDelivered, mayRetry, status, said: `answered ${status}${redirect}${said === '' ? '' : `: ${said}`}` };
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
