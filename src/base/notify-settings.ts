import { z } from 'zod';
import { SightlineError } from './errors.ts';
import { readSecret } from './key-file.ts';

/** What can be told of. */
export const NOTIFY_EVENTS = ['failure', 'recovery', 'drift', 'stale'] as const;
/** How a message is written. */
export const NOTIFY_FORMATS = ['json', 'slack'] as const;

/** One of NOTIFY_EVENTS. */
export type NotifyEvent = (typeof NOTIFY_EVENTS)[number];

/** Data are stale after so long without a complete sync, where nothing else is said: a nightly one, and two hours. */
const STALE_HOURS = 26;
/** Bytes of a secret at least. */
const SECRET_BYTES_MIN = 16;
/** What Standard Webhooks puts before a secret that is written in base64. */
const SECRET_PREFIX = 'whsec_';

/** A receiver of messages. Its address and its secret are secrets: they are never shown, logged or written. */
export interface NotifyTarget {
  /** The NAME of the variable that holds the address, by which people are told of the target. */
  readonly urlVariable: string;
  readonly url: URL;
  readonly format: (typeof NOTIFY_FORMATS)[number];
  /** What messages are signed with; null where they are not. */
  readonly secret: Uint8Array | null;
  /** The secret as its variable has it, to be kept out of texts. */
  readonly secretText: string | null;
  readonly events: readonly NotifyEvent[];
  readonly staleHours: number;
}

// An address or a key in place of its variable's name is a mistake that suggests itself.
const variableName = z.string().regex(/^(?!gsk_|whsec_)[A-Za-z_]\w*$/);

/** How `notify` stands in the file. */
export const notifySchema = z
  .array(
    z.strictObject({
      urlVariable: variableName,
      format: z.enum(NOTIFY_FORMATS).optional(),
      secretVariable: variableName.optional(),
      events: z.array(z.enum(NOTIFY_EVENTS)).min(1).optional(),
      staleHours: z.number().positive().max(8_784).optional(),
    }),
  )
  .max(20);

/** Members of each item of `notify`, with what each may be, in words. */
export const notifyAllowed = {
  urlVariable: 'the name of the variable that holds the address',
  format: NOTIFY_FORMATS.join(' or '),
  secretVariable: 'the name of the variable that holds the secret',
  events: `a list of ${NOTIFY_EVENTS.join(', ')}`,
  staleHours: 'a number of hours above 0, at most 8784',
} as const;

/** Reads the receivers' addresses and secrets. Throws `config_invalid` with the variable's name, and never its value. */
export function readNotify(
  items: z.infer<typeof notifySchema>,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
  allowHttp: boolean,
): NotifyTarget[] {
  const read = (variable: string): string => readSecret(variable, environment, folder)?.trim() ?? '';
  return items.map(
    ({ urlVariable, format = 'json', secretVariable, events = NOTIFY_EVENTS, staleHours = STALE_HOURS }) => {
      const secretText = secretVariable === undefined ? null : read(secretVariable);
      const secret = secretText === null ? null : toSecret(String(secretVariable), secretText);
      const url = readUrl(urlVariable, read(urlVariable), allowHttp);
      return { urlVariable, url, format, secret, secretText, events, staleHours };
    },
  );
}

/** Whether what is sent to an address cannot be read on the way: by https, or because it stays on this machine. */
export function isPrivateWay({ protocol, hostname }: URL, allowHttp: boolean): boolean {
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && (isLoopback || allowHttp));
}

function readUrl(variable: string, text: string, allowHttp: boolean): URL {
  const allowed = 'the https address of a webhook; http only on loopback, or with SIGHTLINE_ALLOW_HTTP=1';
  if (text === '') throw new SightlineError('config_invalid', `${variable} is not set; allowed: ${allowed}`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !isPrivateWay(url, allowHttp)) {
    throw new SightlineError('config_invalid', `${variable} is not an address to send to; allowed: ${allowed}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new SightlineError('config_invalid', `${variable} holds a user name or password; allowed: ${allowed}`);
  }
  return url;
}

function toSecret(variable: string, text: string): Uint8Array {
  const isEncoded = text.startsWith(SECRET_PREFIX);
  const encoded = text.slice(SECRET_PREFIX.length);
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded);
  const bytes = isEncoded ? Buffer.from(isBase64 ? encoded : '', 'base64') : Buffer.from(text);
  if (bytes.length >= SECRET_BYTES_MIN) return bytes;
  const allowed = `${SECRET_PREFIX} and base64, or any text, of ${SECRET_BYTES_MIN} bytes at least`;
  const what = text === '' ? 'is not set' : 'is no secret to sign with';
  throw new SightlineError('config_invalid', `${variable} ${what}; allowed: ${allowed}`);
}
