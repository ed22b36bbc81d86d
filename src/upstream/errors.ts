import { type ErrorCode, SightlineError } from '../base/errors.ts';

/** Client errors that do not concern the question. */
const NO_REJECTIONS: readonly number[] = [401, 403, 408, 425, 429];

/** Error of a request to upstream. */
export class UpstreamError extends SightlineError {
  /** HTTP status; null if there was no response. */
  readonly status: number | null;
  /** True if a retry may succeed. */
  readonly retryable: boolean;
  /** Retry-After in milliseconds; null if absent. */
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

  /** Whether upstream understood and rejected the request itself, not the key, the plan or the rate. */
  get isRejection(): boolean {
    return this.status !== null && this.status >= 400 && this.status < 500 && !NO_REJECTIONS.includes(this.status);
  }
}

/** Code and message of an error envelope, without secrets; empty strings if there is none. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/**
 * Makes the error of an HTTP status other than 200. A 401 always concerns the key. A 403 concerns the workspace if its code is
 * `plan_required`, otherwise the endpoint `target`.
 */
export function statusError(
  status: number,
  target: string,
  { code, message: upstreamMessage }: Refusal,
  retryAfterMs: number | null,
): UpstreamError {
  const details = { status, retryAfterMs };
  const suffix = upstreamMessage === '' ? '' : `: ${upstreamMessage}`;
  if (status === 401) return new UpstreamError('unauthorized', `upstream rejected the key (401)${suffix}`, details);
  if (status === 403 && code === 'plan_required')
    return new UpstreamError('plan_required', `upstream rejected the workspace (403)${suffix}`, details);
  if (status === 404) return new UpstreamError('not_found', `upstream has no ${target} (404)${suffix}`, details);
  if (status === 429) {
    const message = `upstream's rate limit rejected ${target} (429)${suffix}`;
    return new UpstreamError('upstream_failed', message, { ...details, retryable: true });
  }
  if (status >= 500 || status === 408 || status === 425) {
    const message = `upstream failed on ${target} (${status})${suffix}`;
    return new UpstreamError('upstream_failed', message, { ...details, retryable: true });
  }
  const verb = status >= 300 && status < 400 ? 'redirects' : 'rejected';
  return new UpstreamError('refused', `upstream ${verb} ${target} (${status})${suffix}`, details);
}

/** Converts a 403 of the list of brands to `plan_required`, whatever its code. Other errors are returned unchanged. */
export function toWorkspaceError(thrown: unknown): unknown {
  if (!(thrown instanceof UpstreamError) || thrown.status !== 403) return thrown;
  return new UpstreamError('plan_required', thrown.message, { status: 403, cause: thrown });
}
