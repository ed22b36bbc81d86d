import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ResourceDeclaration } from '../contract/resource.ts';
import { CONTROL_PREFIX, control } from './control.ts';
import { DAY_MS } from './days.ts';
import { createFaultPicker, type Fault } from './faults.ts';
import type { Fixtures, World } from './fixture.ts';
import { type Arrival, BASE_PATH, createHandler, type Handling, type Outcome } from './handler.ts';
import { type Counts, createJournal, type LoggedRequest } from './journal.ts';
import { createOpenApi } from './openapi.ts';
import { randomOf, uuidOf } from './random.ts';
import { deliver } from './reply.ts';
import type { Shape } from './sandbox-answer.ts';
import { type KeyState, keyOf } from './sandbox-keys.ts';
import { createLimiter, type Window } from './sandbox-limiter.ts';

const KEY_CHARACTERS_LOGGED = 8;
const CHUNK_DELAY_MS = 25;

/** Options of a sandbox. */
export interface SandboxOptions<W> {
  readonly declarations: readonly ResourceDeclaration[];
  readonly fixtures: Fixtures<W>;
  readonly world: W;
  readonly key: string;
  readonly host?: string;
  readonly port?: number;
  readonly seed?: number;
  /** Requests per minute for each key; default 120. */
  readonly rateLimit?: number | 'off';
  readonly window?: Window;
  /** Whether rejected requests count against the limit; default false. */
  readonly countRefused?: boolean;
  /** Clock of the limiter, in epoch milliseconds; default the real clock, independent of the world's clock. */
  readonly limiterClock?: () => number;
  readonly latencyMs?: number;
  /** Pause between the pieces of a slow body; default 25. */
  readonly chunkDelayMs?: number;
  readonly faults?: readonly Fault[];
  readonly shape?: Shape;
  /** Whether the OpenAPI document is served; default true. */
  readonly openapi?: boolean;
  /** Lifetime of a cursor by the world's clock; default one day. */
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
  /** Adds a key or changes its state. */
  setKey(key: string, state: KeyState): void;
  advance(change: C): readonly D[];
  /** Stops immediately: destroys connections and clears timers. */
  close(): Promise<void>;
}

/**
 * Starts a server, on loopback by default, and resolves when it listens.
 *
 * @example
 * const sandbox = await startSandbox({ declarations, fixtures, world, key });
 * const response = await fetch(`${sandbox.baseUrl}/openapi.json`, { headers: { 'x-api-key': sandbox.key } });
 */
export async function startSandbox<W extends World<C, D>, C, D>(options: SandboxOptions<W>): Promise<Sandbox<W, C, D>> {
  const { world, key, seed = 1, limiterClock = Date.now } = options;
  const keys = new Map<string, KeyState>([[key, 'active']]);
  const journal = createJournal();
  const timers = createTimers();
  const ids = randomOf('request ids', seed);
  let pickFault = createFaultPicker(options.faults ?? [], seed);
  let openapi: string | undefined;
  const handle = createHandler({
    ...handlingOf(options, keys),
    pickFault: (path, fits) => pickFault(path, fits),
    openapi: () => openapi,
  });
  const advance = (change: C): readonly D[] => world.advance(change);
  const setFaults = (faults: readonly Fault[]): void => {
    pickFault = createFaultPicker(faults, seed);
  };
  const controls = { advance: (change: Record<string, unknown>) => advance(change as C), setFaults };

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url?.startsWith(CONTROL_PREFIX) === true) {
      control(request, response, controls).catch(() => response.destroy());
      return;
    }
    request.resume();
    const arrival = arrivalOf(request, limiterClock(), world.now(), uuidOf(ids));
    const outcome = handle(arrival);
    journal.add(entryOf(arrival, outcome));
    const headers = { ...outcome.reply.headers, Date: new Date(arrival.nowMs).toUTCString() };
    const send = (): void => {
      const chunkDelayMs = options.chunkDelayMs ?? CHUNK_DELAY_MS;
      deliver(response, { ...outcome.reply, headers }, outcome.delivery, timers.later, chunkDelayMs);
    };
    if (options.latencyMs === undefined) send();
    else timers.later(send, options.latencyMs);
  };

  const server = createServer({ keepAliveTimeout: 30_000 }, serve);
  const baseUrl = await listen(server, options.host ?? '127.0.0.1', options.port ?? 0);
  if (options.openapi !== false) {
    openapi = JSON.stringify(createOpenApi(options.declarations, baseUrl, options.shape?.unknownParameterName));
  }
  const { requests, counts } = journal;
  const setKey = (name: string, state: KeyState): void => void keys.set(name, state);
  const close = (): Promise<void> => {
    timers.clear();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    return closed;
  };
  return { baseUrl, key, world, requests, counts, setFaults, setKey, advance, close };
}

function handlingOf<W>(
  options: SandboxOptions<W>,
  keys: ReadonlyMap<string, KeyState>,
): Omit<Handling<W>, 'pickFault' | 'openapi'> {
  const { world, fixtures, declarations, shape = {}, cursorLifetimeMs = DAY_MS, rateLimit = 120 } = options;
  const limit =
    rateLimit === 'off'
      ? undefined
      : {
          perMinute: rateLimit,
          admit: createLimiter(rateLimit, options.window ?? 'sliding', options.countRefused ?? false),
        };
  return { world, fixtures, declarations, shape, cursorLifetimeMs, keys, limit };
}

async function listen(server: Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}${BASE_PATH}`;
}

function arrivalOf(request: IncomingMessage, atMs: number, nowMs: number, requestId: string): Arrival {
  const [pathname = '', search = ''] = (request.url ?? '/').split(/\?(.*)/s);
  return { method: request.method ?? '', pathname, search, headers: request.headers, atMs, nowMs, requestId };
}

function entryOf(arrival: Arrival, { reply, blow, delivery }: Outcome): LoggedRequest {
  const answered = delivery !== 'hang' && delivery !== 'reset';
  return {
    atMs: arrival.atMs,
    method: arrival.method,
    path: arrival.pathname,
    query: arrival.search,
    status: answered ? reply.status : 0,
    key: keyOf(arrival.headers)?.slice(0, KEY_CHARACTERS_LOGGED) ?? null,
    fault: blow?.fault.kind ?? null,
  };
}

/** Delayed steps that can be cancelled. */
interface Timers {
  later(step: () => void, delayMs: number): void;
  clear(): void;
}

// Creates timers that can be cleared together, so that a closed server leaves none behind.
function createTimers(): Timers {
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
