import type { Blow, FaultKind } from './faults.ts';
import { Refusal } from './fixture.ts';
import { type Delivery, errorReply, jsonReply, type Reply } from './reply.ts';
import type { Match } from './routes.ts';
import { rateLimited } from './sandbox-limiter.ts';

/** Returns whether a fault can apply to a request. Requests that do not fit are not counted in `times`. */
export function fitsRequest(kind: FaultKind, match: Match, given: URLSearchParams): boolean {
  switch (kind) {
    case 'expiredcursor':
    case 'stuckcursor':
    case 'headinsert':
      return match.declaration.paging === 'cursor' && given.has('cursor');
    case 'norows':
      return match.declaration.tables.some((table) => table.at !== 'body');
    default:
      return true;
  }
}

/**
 * Returns the response that replaces the real one, or undefined if the fault only distorts it or leaves it unchanged.
 */
export function replacementOf(blow: Blow | undefined, requestId: string): Reply | undefined {
  const waitSeconds = blow?.fault.retryAfterSeconds ?? 1;
  switch (blow?.fault.kind) {
    case '429':
      return errorReply(rateLimited(waitSeconds), requestId);
    case '500':
      return errorReply(new Refusal(500, 'internal_error', 'Something went wrong.'), requestId);
    case '502':
      return { status: 502, headers: { 'Content-Type': 'text/html' }, body: '<html><body>Bad Gateway</body></html>' };
    case '503': {
      const headers = blow.variant < 0.5 ? { 'Retry-After': String(waitSeconds) } : {};
      return errorReply(new Refusal(503, 'unavailable', 'Down for a moment.', headers), requestId);
    }
    case 'badjson':
      return { ...jsonReply(null), body: '{"data": [{"id": ' };
    case 'norows':
      return jsonReply({});
    default:
      return undefined;
  }
}

/** Returns how a response is delivered under a fault. */
export function deliveryOf(blow: Blow | undefined): Delivery {
  switch (blow?.fault.kind) {
    case 'reset':
      return blow.variant < 0.5 ? 'reset' : 'reset-midway';
    case 'hang':
      return 'hang';
    case 'truncate':
      return 'truncate';
    case 'slowbody':
      return 'slow';
    default:
      return 'whole';
  }
}
