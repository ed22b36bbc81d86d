import type { IncomingHttpHeaders } from 'node:http';
import type { ResourceDeclaration } from '../contract/resource.ts';
import { type Answering, answer } from './answer.ts';
import type { Blow, FaultPicker } from './faults.ts';
import { notFound, Refusal } from './fixture.ts';
import { authenticate, type KeyState } from './keys.ts';
import { type Limiter, rateLimited } from './limiter.ts';
import { type Delivery, errorReply, jsonReply, type Reply } from './reply.ts';
import { createRouter } from './routes.ts';
import { deliveryOf, fitsRequest, replacementOf } from './strike.ts';

/** The path under which the API is served. */
export const BASE_PATH = '/v1';
const OPENAPI_PATH = `${BASE_PATH}/openapi.json`;

/** A request to the API. */
export interface Arrival {
  readonly method: string;
  readonly pathname: string;
  readonly search: string;
  readonly headers: IncomingHttpHeaders;
  /** When it arrived, by the limiter's clock and by the world's. */
  readonly atMs: number;
  readonly nowMs: number;
  readonly requestId: string;
}

/** What is to be sent for a request, and how. */
export interface Outcome {
  readonly reply: Reply;
  readonly blow: Blow | undefined;
  readonly delivery: Delivery;
}

/** What handling requests needs. */
export interface Handling<W> extends Answering<W> {
  readonly declarations: readonly ResourceDeclaration[];
  readonly keys: ReadonlyMap<string, KeyState>;
  /** Undefined when nothing is limited. */
  readonly limit: { readonly perMinute: number; readonly admit: Limiter } | undefined;
  readonly pickFault: FaultPicker;
  /** The OpenAPI document, or undefined where there is none. */
  readonly openapi: () => string | undefined;
}

/** Builds the function that decides what a request is answered. */
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

// Counts the request; what is left of the minute goes into the headers of an answer, not of a refusal.
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
    // A mistake of the sandbox itself: whoever sees it needs to know where.
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return errorReply(new Refusal(500, 'sandbox_error', message), requestId);
  }
}
