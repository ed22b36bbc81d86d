import { z } from 'zod';
import { SightlineError } from '../errors.ts';
import { isLinkLocal, isLoopback } from '../link-local.ts';
import type { FindProxy } from '../proxies.ts';
import { readSecret } from './key-file.ts';
import { variableName } from './shared-schemas.ts';

/** Events that can be notified. */
export const NOTIFY_EVENTS = ['failure', 'recovery', 'drift', 'stale', 'brief'] as const;
/** Formats of notifications. */
export const NOTIFY_FORMATS = ['json', 'slack', 'teams', 'email'] as const;

/** One of NOTIFY_EVENTS. */
export type NotifyEvent = (typeof NOTIFY_EVENTS)[number];

/** Default age in hours after which data are stale: the nightly sync is half a day late. `status` has the same limit. */
export const STALE_HOURS = 36;
/** Minimum length of a secret in bytes. */
const SECRET_BYTES_MIN = 16;
/** Prefix of base64 secrets in Standard Webhooks. */
const SECRET_PREFIX = 'whsec_';

interface MailAddresses {
  readonly to: readonly string[];
  readonly from: string;
}

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
  /** Addresses of e-mails, and the sign-in at the mail server; null for webhooks. */
  readonly mail: (MailAddresses & { readonly login: { readonly user: string; readonly pass: string } | null }) | null;
  /** Address of the data pages, without a slash at the end; null for messages without links. */
  readonly link: string | null;
}

const mailAddress = z
  .string()
  .regex(/^[^\s@<>(),:;"[\]\\]{1,64}@[^\s@<>(),:;"[\]\\]{1,253}$/)
  .describe('an e-mail address, such as team@example.com');

/** Schema of the `notify` setting in the configuration file. */
export const notifySchema = z
  .array(
    z.strictObject({
      urlVariable: variableName('the name of the environment variable with the URL').meta({
        about:
          'the URL is secret: https, or http on loopback; for e-mail smtps://USER:PASSWORD@HOST, or smtp://…:587 with STARTTLS',
      }),
      format: z.enum(NOTIFY_FORMATS).optional().meta({
        about: 'the form of the messages; teams is a workflow "When a Teams webhook request is received"',
        preset: 'json',
      }),
      secretVariable: variableName('the name of the environment variable with the secret').optional().meta({
        about: 'the signing secret: whsec_ and base64, or any text; at least 16 bytes',
        whenUnset: 'messages are not signed',
      }),
      events: z
        .array(z.enum(NOTIFY_EVENTS))
        .min(1)
        .optional()
        .meta({ about: 'the events that are sent', whenUnset: 'all' }),
      staleHours: z
        .number()
        .positive()
        .max(8_784)
        .describe('a number of hours above 0, at most 8784')
        .optional()
        .meta({ about: 'the age from which data are stale', preset: STALE_HOURS }),
      to: z
        .array(mailAddress)
        .min(1)
        .max(50)
        .describe('a list of 1 to 50 e-mail addresses')
        .optional()
        .meta({ about: 'receivers, only for e-mail' }),
      from: mailAddress.optional().meta({ about: 'the sender, only for e-mail' }),
      link: z
        .url({ protocol: /^https?$/ })
        .describe('the http or https address of the data pages, to which messages for people link')
        .optional(),
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
  return items.map(({ format = 'json', events = NOTIFY_EVENTS, staleHours = STALE_HOURS, ...item }) => {
    const { urlVariable, secretVariable } = item;
    const addresses = readAddresses(format, item);
    const secretText = secretVariable === undefined ? null : read(secretVariable);
    const secret = secretText === null ? null : toSecret(String(secretVariable), secretText);
    const text = read(urlVariable);
    const link = item.link?.replace(/\/+$/, '') ?? null;
    const common = { urlVariable, format, secret, secretText, events, staleHours, link };
    if (addresses !== null) {
      const { url, login } = readMailUrl(urlVariable, text);
      return { ...common, url, proxy: null, mail: { ...addresses, login } };
    }
    const url = readUrl(urlVariable, text, allowHttp);
    return { ...common, url, proxy: findProxy(url), mail: null };
  });
}

function readAddresses(
  format: NotifyTarget['format'],
  { urlVariable, to, from, secretVariable }: z.infer<typeof notifySchema>[number],
): MailAddresses | null {
  const of = `notify of ${urlVariable}: the format ${format}`;
  if (format !== 'email') {
    if (to === undefined && from === undefined) return null;
    throw new SightlineError('config_invalid', `${of} has no "to" and "from"; only "email" has them`);
  }
  if (to === undefined || from === undefined)
    throw new SightlineError('config_invalid', `${of} needs "to", a list of e-mail addresses, and "from", one`);
  if (secretVariable !== undefined)
    throw new SightlineError('config_invalid', `${of} has no "secretVariable"; e-mails are not signed`);
  return { to, from };
}

function readMailUrl(variable: string, text: string) {
  const allowed = 'smtps://USER:PASSWORD@HOST, or smtp://USER:PASSWORD@HOST:587 with STARTTLS; no link-local address';
  if (text === '') throw new SightlineError('config_invalid', `${variable} is not set; allowed: ${allowed}`);
  const url = URL.canParse(text) ? new URL(text) : null;
  // Only addresses of special schemes are brought into one notation.
  const plain = `https://${url?.host ?? ''}`;
  const isMail = url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== '' && URL.canParse(plain);
  if (!isMail || isLinkLocal(new URL(plain)))
    throw new SightlineError('config_invalid', `${variable} is not the URL of a mail server; allowed: ${allowed}`);
  if (url.username === '') return { url, login: null };
  try {
    return { url, login: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } };
  } catch {
    const problem = 'has a % in the user name or password that is not percent-encoded';
    throw new SightlineError('config_invalid', `${variable} ${problem}; allowed: %25 for %`);
  }
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
