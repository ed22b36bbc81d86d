import { UpstreamError } from './errors.ts';

/** The error that a failed exchange with `base` stands for, in words a user knows. */
export function networkError(thrown: unknown, base: URL): UpstreamError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  const code = (causes[0] as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return new UpstreamError('bad_answer', `an answer of ${base.origin} exceeds the size limit`, { cause: thrown });
  }
  const reason = error.name === 'TimeoutError' ? 'no whole answer in time' : (code ?? error.message);
  const message = `no answer from ${base.origin} (${REASONS[reason] ?? reason})`;
  return new UpstreamError('unreachable', message, { retryable: true, cause: thrown });
}

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
