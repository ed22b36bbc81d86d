import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ResourceDeclaration } from '../contract/resource.ts';
import { type Answering, answer, type Shape } from './answer.ts';
import { CONTROL_PREFIX, control } from './control.ts';
import { type Blow, createFaultPicker, type Fault, type FaultKind } from './faults.ts';
import { type Fixtures, notFound, Refusal, type World } from './fixture.ts';
import { type Counts, createJournal, type LoggedRequest } from './journal.ts';
import { authenticate, type KeyState, keyOf } from './keys.ts';
import { createLimiter, type Limiter, type Window } from './limiter.ts';
import { createOpenApi } from './openapi.ts';
import { randomOf, uuidOf } from './random.ts';
import { type Delivery, deliver, errorReply, jsonReply, type Reply } from './reply.ts';
import { createRouter, type Match } from './routes.ts';

const BASE_PATH = '/v1';
const OPENAPI_PATH = '/openapi.json';
const KEY_CHARACTERS_LOGGED = 8;
const DAY_MS = 86_400_000;

/** What a sandbox serves, and how. */
export interface SandboxOptions<W> {
  readonly declarations: readonly ResourceDeclaration[];
  readonly fixtures: Fixtures<W>;
  readonly world: W;
  readonly key: string;
  readonly host?: string;
  readonly port?: number;
  readonly seed?: number;
  /** Requests a minute for each key; default 120. */
  readonly rateLimit?: number | 'off';
  readonly window?: Window;
  /** Whether requests refused for their number count towards it; default false. */
  readonly countRefused?: boolean;
  /** Time for the limiter, in epoch milliseconds; default the real one, whatever the world's clock says. */
  readonly limiterClock?: () => number;
  readonly latencyMs?: number;
  /** Pause between the pieces of a body that trickles; default 25. */
  readonly chunkDelayMs?: number;
  readonly faults?: readonly Fault[];
  readonly shape?: Shape;
  /** Whether the OpenAPI document is there; default true. */
  readonly openapi?: boolean;
  /** How long a cursor is good for, by the world's clock; default a day. */
  readonly cursorLifetimeMs?: number;
}

/** A running sandbox. */
export interface Sandbox<W, C, D> {
  readonly baseUrl: string;
  readonly key: string;
  readonly world: W;
  /** Every request to the API, in order of arrival. */
  readonly requests: readonly LoggedRequest[];
  readonly counts: Readonly<Counts>;
  setFaults(faults: readonly Fault[]): void;
  /** Adds a key or changes what has become of it. */
  setKey(key: string, state: KeyState): void;
  advance(change: C): readonly D[];
  /** Ends everything at once: connections are destroyed, timers cleared. */
  close(): Promise<void>;
}

/** Starts a server on loopback unless told otherwise, and resolves once it listens. */
export async function startSandbox<W extends World<C, D>, C, D>(options: SandboxOptions<W>): Promise<Sandbox<W, C, D>> {
  const { world, key, host = '127.0.0.1', port = 0, seed = 1, limiterClock = Date.now } = options;
  const keys = new Map<string, KeyState>([[key, 'active']]);
  const journal = createJournal();
  const timers = createTimers();
  const advance = (change: C): readonly D[] => world.advance(change);
  let pickFault = createFaultPicker(options.faults ?? [], seed);
  const setFaults = (faults: readonly Fault[]): void => {
    pickFault = createFaultPicker(faults, seed);
  };
  const ids = randomOf('request ids', seed);
  const limiter = limiterOf(options);
  const router = createRouter(options.declarations);
  const answering = answeringOf(options);
  let openapi = '';

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const target = request.url ?? '/';
    if (target.startsWith(CONTROL_PREFIX)) {
      const controls = { advance: (change: Record<string, unknown>) => advance(change as C), setFaults };
      control(request, response, controls).catch(() => response.destroy());
      return;
    }
    request.resume();
    const exchange = { request, response, target, atMs: limiterClock(), nowMs: world.now(), requestId: uuidOf(ids) };
    const outcome = handle(exchange);
    const noted = outcome.delivery === 'hang' || outcome.delivery === 'reset' ? 0 : outcome.reply.status;
    journal.add(entryOf(exchange, noted, outcome.blow));
    const send = (): void =>
      deliver(
        response,
        stamp(outcome.reply, exchange.nowMs),
        outcome.delivery,
        timers.later,
        options.chunkDelayMs ?? 25,
      );
    if (options.latencyMs === undefined) send();
    else timers.later(send, options.latencyMs);
  };

  const handle = (exchange: Exchange): Outcome => {
    const [pathname = '', search = ''] = exchange.target.split(/\?(.*)/s);
    const allowance: Record<string, string> = {};
    let blow: Blow | undefined;
    const reply = replyOrRefusal(exchange.requestId, () => {
      if (!pathname.startsWith(`${BASE_PATH}/`)) throw notFound(`the path ${pathname}`);
      const path = pathname.slice(BASE_PATH.length);
      const isDocument = path === OPENAPI_PATH && options.openapi !== false;
      if (!isDocument) admit(limiter, authenticate(exchange.request.headers, keys), exchange.atMs, allowance);
      const match = isDocument ? undefined : router(path);
      if (match === undefined && !isDocument) throw notFound(`the path ${pathname}`);
      if (exchange.request.method !== 'GET') {
        throw new Refusal(405, 'method_not_allowed', 'This API is read-only: use GET.', { Allow: 'GET' });
      }
      if (match === undefined) return { status: 200, headers: { 'Content-Type': 'application/json' }, body: openapi };
      const given = new URLSearchParams(search);
      blow = pickFault(pathname, (kind) => fitsRequest(kind, match, given));
      const struck = blow === undefined ? undefined : strike(blow, exchange.requestId);
      return struck ?? jsonReply(answer(answering, match, given, exchange.nowMs, blow), allowance);
    });
    return { reply, blow, delivery: deliveryOf(blow) };
  };

  const server = createServer({ keepAliveTimeout: 30_000 }, serve);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  const baseUrl = `http://${host.includes(':') ? `[${host}]` : host}:${bound}${BASE_PATH}`;
  openapi = JSON.stringify(createOpenApi(options.declarations, baseUrl, options.shape?.unknownParameterName));
  return {
    baseUrl,
    key,
    world,
    requests: journal.requests,
    counts: journal.counts,
    setFaults,
    setKey: (name, state) => void keys.set(name, state),
    advance,
    close: () => {
      timers.clear();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: string;
  readonly atMs: number;
  readonly nowMs: number;
  readonly requestId: string;
}

interface Outcome {
  readonly reply: Reply;
  readonly blow: Blow | undefined;
  readonly delivery: Delivery;
}

function limiterOf<W>(options: SandboxOptions<W>): { readonly limit: number; readonly take: Limiter } | undefined {
  const limit = options.rateLimit ?? 120;
  if (limit === 'off') return undefined;
  return { limit, take: createLimiter(limit, options.window ?? 'sliding', options.countRefused ?? false) };
}

function answeringOf<W>(options: SandboxOptions<W>): Answering<W> {
  const { world, fixtures, shape = {}, cursorLifetimeMs = DAY_MS } = options;
  return { world, fixtures, shape, cursorLifetimeMs };
}

// Counts the request; what is left of the minute goes into the headers of whatever answer it gets.
function admit(
  limiter: { readonly limit: number; readonly take: Limiter } | undefined,
  key: string,
  atMs: number,
  allowance: Record<string, string>,
): void {
  if (limiter === undefined) return;
  const { allowed, remaining, retryAfterSeconds } = limiter.take(key, atMs);
  if (!allowed) throw rateLimited(retryAfterSeconds);
  allowance['X-RateLimit-Limit'] = String(limiter.limit);
  allowance['X-RateLimit-Remaining'] = String(remaining);
}

function rateLimited(seconds: number): Refusal {
  const message = `Too many requests. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
  return new Refusal(429, 'rate_limited', message, { 'Retry-After': String(seconds) });
}

function replyOrRefusal(requestId: string, work: () => Reply): Reply {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) return errorReply(error, requestId);
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return errorReply(new Refusal(500, 'sandbox_error', message), requestId);
  }
}

// Faults of cursors and rows wait for a request they can befall, so that `times` counts those that suffered.
function fitsRequest(kind: FaultKind, match: Match, given: URLSearchParams): boolean {
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

// The answers that take the place of the real one.
function strike(blow: Blow, requestId: string): Reply | undefined {
  const wait = { 'Retry-After': String(blow.fault.retryAfterSeconds ?? 1) };
  switch (blow.fault.kind) {
    case '429':
      return errorReply(rateLimited(blow.fault.retryAfterSeconds ?? 1), requestId);
    case '500':
      return errorReply(new Refusal(500, 'internal_error', 'Something went wrong.'), requestId);
    case '502':
      return { status: 502, headers: { 'Content-Type': 'text/html' }, body: '<html><body>Bad Gateway</body></html>' };
    case '503':
      return errorReply(
        new Refusal(503, 'unavailable', 'Down for a moment.', blow.variant < 0.5 ? wait : {}),
        requestId,
      );
    case 'badjson':
      return { status: 200, headers: { 'Content-Type': 'application/json' }, body: '{"data": [{"id": ' };
    case 'norows':
      return jsonReply({});
    default:
      return undefined;
  }
}

function deliveryOf(blow: Blow | undefined): Delivery {
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

function stamp(reply: Reply, nowMs: number): Reply {
  return { ...reply, headers: { ...reply.headers, Date: new Date(nowMs).toUTCString() } };
}

function entryOf(exchange: Exchange, status: number, blow: Blow | undefined): LoggedRequest {
  const [path = '', query = ''] = exchange.target.split(/\?(.*)/s);
  const key = keyOf(exchange.request.headers)?.slice(0, KEY_CHARACTERS_LOGGED) ?? null;
  const fault = blow?.fault.kind ?? null;
  return { atMs: exchange.atMs, method: exchange.request.method ?? '', path, query, status, key, fault };
}

function createTimers(): { later(step: () => void, delayMs: number): void; clear(): void } {
  const running = new Set<NodeJS.Timeout>();
  const later = (step: () => void, delayMs: number): void => {
    const timer = setTimeout(() => {
      running.delete(timer);
      step();
    }, delayMs);
    running.add(timer);
  };
  const clear = (): void => {
    for (const timer of running) clearTimeout(timer);
    running.clear();
  };
  return { later, clear };
}
