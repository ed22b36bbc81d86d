import type { OpenSpan } from '../../base/trace.ts';
import type { Endpoint } from './paths.ts';

/** What is known of a request while it is served: for the log and the metrics. */
export interface Visit {
  /** On the clock that is never set back. */
  readonly startedAtMs: number;
  /** The declared path, never what the client wrote; null where there is none. */
  route: string | null;
  /** What is said beside every answer: the request's id, and what is left of the minute. */
  readonly headers: Record<string, string | number>;
  /** Id of the key it came with. */
  keyId: string | null;
  /** Whether the answer was computed, kept from before, or known to the client already. */
  cache: 'computed' | 'kept' | 'unchanged' | null;
  /** Bytes of the body; null where it is written by others. */
  bytes: number | null;
  /** Aborted when the client leaves before it is answered; made where something waits for it. */
  leaving: AbortController | null;
  /** The request in a trace, where traces are wanted. */
  span: OpenSpan | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    visit: Visit;
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint;
  }
}

/** A request that has just come. */
export function newVisit(startedAtMs: number, requestId: string): Visit {
  const headers = { 'x-request-id': requestId };
  return { startedAtMs, route: null, headers, keyId: null, cache: null, bytes: null, leaving: null, span: null };
}
