import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { isLinkLocal, isLoopback } from '../link-local.ts';
import type { FindProxy } from '../proxies.ts';
import { readSecret } from './key-file.ts';
import { variableName } from './shared-schemas.ts';

/** Events that can be notified. */
export const NOTIFY_EVENTS = ['failure', 'recovery', 'drift', 'stale', 'brief'] as const;
/** Formats of notifications. */
export const NOTIFY_FORMATS = ['json', 'slack'] as const;

/** One of NOTIFY_EVENTS. */
export type NotifyEvent = (typeof NOTIFY_EVENTS)[number];

/** Default age in hours after which data are stale: the nightly sync is half a day late. `status` has the same limit. */
export const STALE_HOURS = 36;
/** Minimum length of a secret in bytes. */
const SECRET_BYTES_MIN = 16;
/** Prefix of base64 secrets in Standard Webhooks. */
const SECRET_PREFIX = 'whsec_';

/** A receiver of notifications. `url` and `secret` are confidential: never show, log or write them. */
export interface NotifyTarget {
  /** Name of the variable with the URL; identifies the receiver in messages. */
  readonly urlVariable: string;
  readonly url: URL;
  /** The proxy through which messages are sent; null for none. */
  readonly proxy: URL | null;
  readonly format: (typeof NOTIFY_FORMATS)[number];
  /** Signing key; null if messages are not signed. */
  readonly secret: Uint8Array | null;
  /** The secret as written in its variable, used to redact it from texts; null if messages are not signed. */
  readonly secretText: string | null;
  readonly events: readonly NotifyEvent[];
  readonly staleHours: number;
}

/** Schema of the `notify` setting in the configuration file. */
export const notifySchema = z
  .array(
    z.strictObject({
      urlVariable: variableName('the name of the environment variable with the URL'),
      format: z.enum(NOTIFY_FORMATS).optional(),
      secretVariable: variableName('the name of the environment variable with the secret').optional(),
      events: z.array(z.enum(NOTIFY_EVENTS)).min(1).optional(),
      staleHours: z.number().positive().max(8_784).describe('a number of hours above 0, at most 8784').optional(),
    }),
  )
  .max(20);

/**
 * Resolves the `notify` setting and reads URLs and secrets from their variables.
 * @throws `config_invalid` naming the variable, never its value
 */
export function readNotify(
  items: z.infer<typeof notifySchema>,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
  { allowHttp, findProxy }: { readonly allowHttp: boolean; readonly findProxy: FindProxy },
): NotifyTarget[] {
  const read = (variable: string): string => readSecret(variable, environment, folder)?.trim() ?? '';
  return items.map(
    ({ urlVariable, format = 'json', secretVariable, events = NOTIFY_EVENTS, staleHours = STALE_HOURS }) => {
      const secretText = secretVariable === undefined ? null : read(secretVariable);
      const secret = secretText === null ? null : toSecret(String(secretVariable), secretText);
      const url = readUrl(urlVariable, read(urlVariable), allowHttp);
      return { urlVariable, url, proxy: findProxy(url), format, secret, secretText, events, staleHours };
    },
  );
}

/** The part of an error about a URL that `isPrivateWay` refuses. */
export const PRIVATE_WAY = 'http only on loopback, or with SIGHTLINE_ALLOW_HTTP=1; no link-local address';

/**
 * True if requests to the URL cannot be read in transit (https or loopback), or if `allowHttp` permits plain http. Never true for
 * link-local addresses.
 */
export function isPrivateWay(url: URL, allowHttp: boolean): boolean {
  if (isLinkLocal(url)) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && (isLoopback(url) || allowHttp));
}

function readUrl(variable: string, text: string, allowHttp: boolean): URL {
  const allowed = `the https URL of a webhook; ${PRIVATE_WAY}`;
  if (text === '') throw new SightlineError('config_invalid', `${variable} is not set; allowed: ${allowed}`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !isPrivateWay(url, allowHttp)) {
    throw new SightlineError('config_invalid', `${variable} is not the URL of a webhook; allowed: ${allowed}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new SightlineError('config_invalid', `${variable} contains a user name or password; allowed: ${allowed}`);
  }
  return url;
}

function toSecret(variable: string, text: string): Uint8Array {
  const isEncoded = text.startsWith(SECRET_PREFIX);
  const encoded = text.slice(SECRET_PREFIX.length);
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded);
  const bytes = isEncoded ? Buffer.from(isBase64 ? encoded : '', 'base64') : Buffer.from(text);
  if (bytes.length >= SECRET_BYTES_MIN) return bytes;
  const allowed = `${SECRET_PREFIX} followed by base64, or any text, of at least ${SECRET_BYTES_MIN} bytes`;
  const problem = text === '' ? 'is not set' : 'is not a signing secret';
  throw new SightlineError('config_invalid', `${variable} ${problem}; allowed: ${allowed}`);
}
