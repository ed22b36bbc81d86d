import { proxyRefusal } from '../base/dispatcher.ts';
import { toSightlineError } from '../base/errors.ts';
import { shownProxy } from '../base/proxies.ts';
import { UpstreamError } from './errors.ts';

/** Makes the error of a failed connection or transfer, with a reason that the user understands. */
export function networkError(thrown: unknown, base: URL, proxy: URL | null = null): UpstreamError {
  const refusal = proxy === null ? null : proxyRefusal(thrown, proxy);
  if (refusal !== null) return new UpstreamError('unreachable', refusal, { cause: thrown });
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  const code = (causes[0] as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return new UpstreamError('bad_answer', `a response of ${base.origin} exceeds the size limit`, { cause: thrown });
  }
  const tls = TLS_REASONS[code ?? ''];
  if (tls !== undefined) {
    return new UpstreamError('unreachable', `cannot trust ${base.origin}: ${tls} (${code})`, { cause: thrown });
  }
  if (code === 'EMFILE' || code === 'ENFILE') {
    return new UpstreamError('too_many_files', toSightlineError(causes[0]).message, { cause: thrown });
  }
  const reason = error.name === 'TimeoutError' ? 'timeout before the response was complete' : (code ?? error.message);
  const through = proxy === null ? '' : ` through the proxy ${shownProxy(proxy)}`;
  const message = `no response from ${base.origin}${through} (${REASONS[reason] ?? reason})`;
  return new UpstreamError('unreachable', message, { retryable: true, cause: thrown });
}

const UNKNOWN_ISSUER =
  'its certificate was issued by an unknown authority; set NODE_EXTRA_CA_CERTS to a PEM file with the certificate of that authority';

/** Problem of a server's certificate or TLS, and next step, by the error code of Node. */
const TLS_REASONS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'its certificate is self-signed; if you trust it, set NODE_EXTRA_CA_CERTS to a PEM file with the certificate',
  SELF_SIGNED_CERT_IN_CHAIN: `${UNKNOWN_ISSUER}, which is often a company proxy`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${UNKNOWN_ISSUER}, or configure the server to send its intermediate certificates`,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it, or correct the clock of this machine',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; correct the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another host name; correct SIGHTLINE_BASE_URL or the certificate',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port; correct the port in SIGHTLINE_BASE_URL',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS on this port; correct the port in SIGHTLINE_BASE_URL',
};

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'host name lookup failed',
  UND_ERR_CONNECT_TIMEOUT: 'timeout while connecting',
  UND_ERR_HEADERS_TIMEOUT: 'timeout while waiting for the response',
  UND_ERR_BODY_TIMEOUT: 'the response stopped before its end',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_HEADERS_OVERFLOW: 'its headers exceed 16 KiB',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the length of the response differs from its Content-Length',
};
