import type { IncomingHttpHeaders } from 'node:http';
import type { ResourceDeclaration } from '../contract/resource.ts';
import type { Blow, FaultPicker } from './faults.ts';
import { notFound, Refusal } from './fixture.ts';
import { type Delivery, errorReply, jsonReply, type Reply } from './reply.ts';
import { createRouter } from './routes.ts';
import { type Answering, answer } from './sandbox-answer.ts';
import { authenticate, type KeyState } from './sandbox-keys.ts';
import { type Limiter, rateLimited } from './sandbox-limiter.ts';
import { deliveryOf, fitsRequest, replacementOf } from './strike.ts';

/** Base path of the API. */
export const BASE_PATH = '/v1';
const OPENAPI_PATH = `${BASE_PATH}/openapi.json`;

/** A request to the API. */
export interface Arrival {
  readonly method: string;
  readonly pathname: string;
  readonly search: string;
  readonly headers: IncomingHttpHeaders;
  /** Arrival time: `atMs` by the limiter's clock, `nowMs` by the world's. */
  readonly atMs: number;
  readonly nowMs: number;
  readonly requestId: string;
}

/** The reply to a request and how to deliver it. */
export interface Outcome {
  readonly reply: Reply;
  readonly blow: Blow | undefined;
  readonly delivery: Delivery;
}

/** Everything needed to handle requests. */
export interface Handling<W> extends Answering<W> {
  readonly declarations: readonly ResourceDeclaration[];
  readonly keys: ReadonlyMap<string, KeyState>;
  /** Undefined if requests are not limited. */
  readonly limit: { readonly perMinute: number; readonly admit: Limiter } | undefined;
  readonly pickFault: FaultPicker;
  /** Returns the OpenAPI document, or undefined if it is not served. */
  readonly openapi: () => string | undefined;
}

/** Creates the function that computes the outcome of a request. */
export function createHandler<W>(handling: Handling<W>): (arrival: Arrival) => Outcome {
  const router = createRouter(handling.declarations);
  return (arrival) => {
    let blow: Blow | undefined;
    const work = (): Reply => {
      const document = arrival.pathname === OPENAPI_PATH ? handling.openapi() : undefined;
      const allowance = document === undefined ? admit(handling, arrival) : {};
      const path = arrival.pathname.startsWith(`${BASE_PATH}/`) ? arrival.pathname.slice(BASE_PATH.length) : '';
      const match = router(path);
      if (match === undefined && document === undefined) throw notFound(`the path ${arrival.pathname}`);
      if (arrival.method !== 'GET') {
        throw new Refusal(405, 'method_not_allowed', 'This API is read-only: use GET.', { Allow: 'GET' });
      }
      if (match === undefined) return { ...jsonReply(null), body: document ?? '' };
      const given = new URLSearchParams(arrival.search);
      blow = handling.pickFault(arrival.pathname, (kind) => fitsRequest(kind, match, given));
      const replacement = replacementOf(blow, arrival.requestId);
      return replacement ?? jsonReply(answer(handling, match, given, arrival.nowMs, blow), allowance);
    };
    const reply = replyOrRefusal(arrival.requestId, work);
    return { reply, blow, delivery: deliveryOf(blow) };
  };
}

// Counts the request against the limit. Only successful responses carry the rate limit headers.
function admit<W>({ limit, keys }: Handling<W>, arrival: Arrival): Record<string, string> {
  const key = authenticate(arrival.headers, keys);
  if (limit === undefined) return {};
  const { allowed, remaining, retryAfterSeconds } = limit.admit(key, arrival.atMs);
  if (!allowed) throw rateLimited(retryAfterSeconds);
  return { 'X-RateLimit-Limit': String(limit.perMinute), 'X-RateLimit-Remaining': String(remaining) };
}

function replyOrRefusal(requestId: string, work: () => Reply): Reply {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) return errorReply(error, requestId);
    // A bug in the sandbox: include the stack in the response.
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return errorReply(new Refusal(500, 'sandbox_error', message), requestId);
  }
}
