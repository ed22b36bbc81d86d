import type { Span } from '../../base/trace.ts';
import type { Access } from '../auth/access.ts';
import type { Endpoint } from './paths.ts';
import type { Refusal } from './refusal.ts';

/** State of a request while it is served, for the log and the metrics. */
export interface Visit {
  /** Arrival time on the monotonic clock. */
  readonly startedAtMs: number;
  /** The declared path, never the client's text; null if no route matches. */
  route: string | null;
  /** Headers added to every response: request id, `nosniff` and rate limit. */
  readonly headers: Record<string, string | number>;
  /** Id of the request's key, or of its session if that has no key. */
  keyId: string | null;
  /** The rights of the request; null for endpoints that need no key. */
  access: Access | null;
  /** Whether the response was computed, cached (`kept`), or already current at the client (`unchanged`). */
  cache: 'computed' | 'kept' | 'unchanged' | null;
  /** Bytes of the body; null if another component writes it. */
  bytes: number | null;
  /** Aborted if the client disconnects before the response; created only if something waits for it. */
  leaving: AbortController | null;
  /** Error that an MCP tool call gets as its result; undefined if the request was admitted. */
  refusal: Refusal | undefined;
  readonly span: Span;
}

declare module 'fastify' {
  interface FastifyRequest {
    visit: Visit;
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint;
  }
}

/** Creates the state of a new request. */
export function newVisit(startedAtMs: number, requestId: string, span: Span): Visit {
  const headers = { 'x-request-id': requestId, 'x-content-type-options': 'nosniff' };
  return {
    startedAtMs,
    route: null,
    headers,
    keyId: null,
    access: null,
    cache: null,
    bytes: null,
    leaving: null,
    refusal: undefined,
    span,
  };
}
