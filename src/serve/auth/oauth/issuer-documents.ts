import type { JSONWebKeySet } from 'jose';
import { isPrivateWay } from '../../../base/config/notify-settings.ts';
import type { OAuthSettings } from '../../../base/config/oauth-settings.ts';
import { createDispatcher, proxyRefusal } from '../../../base/dispatcher.ts';
import { isRecord } from '../../../base/json.ts';
import { lookUpPublic } from '../../../base/link-local.ts';
import type { FindProxy } from '../../../base/proxies.ts';

/** Maximum duration of all requests for a key set. */
const FETCH_MS_MAX = 5_000;
/** Maximum size of metadata and of a key set. */
const DOCUMENT_BYTES_MAX = 256 * 1024;
/** Maximum number of keys of an issuer. */
const KEYS_MAX = 100;

type IssuerSettings = Pick<OAuthSettings, 'issuer' | 'jwksUri' | 'findProxy'>;

/** A document of the issuer could not be fetched or is not valid. The message contains no part of the document. */
export class IssuerError extends Error {}

/**
 * Fetches the key set of an issuer. Without a configured address it is read from the issuer's metadata, by RFC 8414 or OpenID
 * Connect Discovery. Redirects are not followed.
 *
 * @throws IssuerError
 */
export async function fetchKeySet(
  { issuer, jwksUri, findProxy }: IssuerSettings,
  timeoutMs = FETCH_MS_MAX,
): Promise<JSONWebKeySet> {
  const asking = { findProxy, signal: AbortSignal.timeout(timeoutMs) };
  const url = jwksUri ?? (await discoverKeySet(issuer, asking));
  const { status, value } = await fetchJson(url, asking);
  if (status !== 200) throw new IssuerError(`${url.host} responded with status ${status} to the request for its keys`);
  const keys = isRecord(value) ? value['keys'] : undefined;
  if (!Array.isArray(keys) || !keys.every(isRecord)) throw new IssuerError(`the key set of ${url.host} has no keys`);
  if (keys.length > KEYS_MAX) {
    throw new IssuerError(`the key set of ${url.host} has ${keys.length} keys; allowed: at most ${KEYS_MAX}`);
  }
  return { keys: keys.filter(({ kty }) => kty !== 'oct') };
}

async function discoverKeySet(issuer: string, asking: Asking): Promise<URL> {
  for (const url of metadataUrls(issuer)) {
    const { status, value } = await fetchJson(url, asking);
    if (status >= 400 && status < 500) continue;
    if (status !== 200)
      throw new IssuerError(`${url.host} responded with status ${status} to the request for its metadata`);
    // The issuer of the metadata must be the configured one (RFC 8414, section 3.3): a server may have several.
    if (!isRecord(value) || value['issuer'] !== issuer) {
      throw new IssuerError(`the metadata at ${url.href} are those of another issuer`);
    }
    const { jwks_uri: text } = value;
    const keySet = typeof text === 'string' && URL.canParse(text) ? new URL(text) : null;
    if (keySet === null) throw new IssuerError(`the metadata at ${url.href} have no jwks_uri`);
    // Only an issuer on this machine may have its keys on this machine without TLS.
    const isPrivate = isPrivateWay(keySet, false) && (keySet.protocol === 'https:' || url.protocol === 'http:');
    if (!isPrivate) throw new IssuerError(`the jwks_uri in the metadata at ${url.href} is not an https URL`);
    return keySet;
  }
  throw new IssuerError(`${new URL(issuer).host} has no metadata for ${issuer}`);
}

// The addresses that RFC 8414 and OpenID Connect Discovery define, in the order of the MCP specification.
function metadataUrls(issuer: string): URL[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const paths = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    `${path}/.well-known/openid-configuration`,
  ];
  return [...new Set(paths)].map((each) => new URL(`${origin}${each}`));
}

interface Asking {
  readonly findProxy: FindProxy;
  readonly signal: AbortSignal;
}

async function fetchJson(
  url: URL,
  { findProxy, signal }: Asking,
): Promise<{ readonly status: number; readonly value: unknown }> {
  // A connection of its own: requests are rare, and nothing has to be closed when the server stops.
  const limits = { maxResponseSize: DOCUMENT_BYTES_MAX, connect: { lookup: lookUpPublic } };
  const proxy = findProxy(url);
  const dispatcher = createDispatcher(proxy, limits);
  const { origin, pathname, search } = url;
  const target = {
    origin,
    path: `${pathname}${search}`,
    method: 'GET',
    headers: { accept: 'application/json' },
  } as const;
  try {
    const { statusCode, body } = await dispatcher.request({ ...target, signal });
    const text = await body.text();
    return { status: statusCode, value: statusCode === 200 ? (JSON.parse(text) as unknown) : null };
  } catch (thrown) {
    const refusal = proxy === null ? null : proxyRefusal(thrown, proxy);
    throw new IssuerError(refusal ?? `${url.host} ${reasonOf(thrown)}`, { cause: thrown });
  } finally {
    await dispatcher.destroy().catch(() => undefined);
  }
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof SyntaxError) return 'sent a document that is not JSON';
  const { name, code } = thrown as { readonly name?: string; readonly code?: string };
  if (name === 'TimeoutError') return 'did not respond in time';
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return `sent more than ${DOCUMENT_BYTES_MAX / 1_024} kB`;
  return `cannot be reached (${code ?? name ?? 'unknown error'})`;
}
