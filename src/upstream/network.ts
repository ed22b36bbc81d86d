import { toSightlineError } from '../base/errors.ts';
import { UpstreamError } from './errors.ts';

/** The error that a failed exchange with `base` stands for, in words a user knows. */
export function networkError(thrown: unknown, base: URL): UpstreamError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  const code = (causes[0] as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return new UpstreamError('bad_answer', `an answer of ${base.origin} exceeds the size limit`, { cause: thrown });
  }
  const tls = TLS_REASONS[code ?? ''];
  if (tls !== undefined) {
    return new UpstreamError('unreachable', `cannot trust ${base.origin}: ${tls} (${code})`, { cause: thrown });
  }
  if (code === 'EMFILE' || code === 'ENFILE') {
    return new UpstreamError('too_many_files', toSightlineError(causes[0]).message, { cause: thrown });
  }
  const reason = error.name === 'TimeoutError' ? 'no whole answer in time' : (code ?? error.message);
  const message = `no answer from ${base.origin} (${REASONS[reason] ?? reason})`;
  return new UpstreamError('unreachable', message, { retryable: true, cause: thrown });
}

const UNKNOWN_ISSUER =
  'its certificate was issued by an authority that Node does not know; set NODE_EXTRA_CA_CERTS to a PEM file with the certificate of that authority';

/** What is wrong with the certificate of a server, or with what answers in place of TLS, by the error code of Node. */
const TLS_REASONS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'its certificate is self-signed; if it is the right one, set NODE_EXTRA_CA_CERTS to a PEM file with it',
  SELF_SIGNED_CERT_IN_CHAIN: `${UNKNOWN_ISSUER}, which is often that of a proxy of the company`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${UNKNOWN_ISSUER}, or let the server send its intermediate certificates`,
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
  UND_ERR_CONNECT_TIMEOUT: 'could not connect in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped in the middle',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_HEADERS_OVERFLOW: 'its headers exceed 16 KiB',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer is not as long as its Content-Length',
};
