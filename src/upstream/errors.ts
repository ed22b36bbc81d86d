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

/** What the error envelope of a response says, already free of secrets; empty if there is none. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/**
 * The error that an HTTP status other than 200 stands for. A 401 is about the key, whichever endpoint sent it; a 403 is about
 * the workspace only if its code is `plan_required`, and otherwise about `where`.
 */
export function statusError(
  status: number,
  where: string,
  { code, message: said }: Refusal,
  retryAfterMs: number | null,
): UpstreamError {
  const details = { status, retryAfterMs };
  const saying = said === '' ? '' : `: ${said}`;
  if (status === 401) return new UpstreamError('unauthorized', `upstream refused the key (401)${saying}`, details);
  if (status === 403 && code === 'plan_required')
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

/** A 403 of the list that every run begins with is about the workspace, whatever its code; other errors are returned as they are. */
export function toWorkspaceError(thrown: unknown): unknown {
  if (!(thrown instanceof UpstreamError) || thrown.status !== 403) return thrown;
  return new UpstreamError('plan_required', thrown.message, { status: 403, cause: thrown });
}
