import { type ErrorCode, SightlineError } from '../base/errors.ts';

/** An error of one request to upstream. */
export class UpstreamError extends SightlineError {
  /** HTTP status, or null when there was no answer. */
  readonly status: number | null;
  /** Whether asking again may help. */
  readonly retryable: boolean;
  /** Milliseconds upstream asked to wait (Retry-After), or null. */
  readonly retryAfterMs: number | null;

  constructor(
    code: ErrorCode,
    message: string,
    details: {
      status?: number | null;
      retryable?: boolean;
      retryAfterMs?: number | null;
      cause?: unknown;
    } = {},
  ) {
    super(code, message, details.cause === undefined ? {} : { cause: details.cause });
    this.name = 'UpstreamError';
    this.status = details.status ?? null;
    this.retryable = details.retryable ?? false;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

/** The error that an HTTP status other than 200 stands for; `said` is upstream's own message, already free of secrets. */
export function statusError(status: number, where: string, said: string, retryAfterMs: number | null): UpstreamError {
  const details = { status, retryAfterMs };
  const saying = said === '' ? '' : `: ${said}`;
  if (status === 401) return new UpstreamError('unauthorized', `upstream refused the key (401)${saying}`, details);
  if (status === 403)
    return new UpstreamError('plan_required', `upstream refused the workspace (403)${saying}`, details);
  if (status === 404) return new UpstreamError('not_found', `upstream has no ${where} (404)${saying}`, details);
  if (status === 429) {
    const message = `upstream's rate limit refused ${where} (429)${saying}`;
    return new UpstreamError('upstream_failed', message, { ...details, retryable: true });
  }
  if (status >= 500 || status === 408 || status === 425) {
    const message = `upstream failed on ${where} (${status})${saying}`;
    return new UpstreamError('upstream_failed', message, { ...details, retryable: true });
  }
  const verb = status >= 300 && status < 400 ? 'redirects' : 'refused';
  return new UpstreamError('refused', `upstream ${verb} ${where} (${status})${saying}`, details);
}
