import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.ts';
import { LIVE_PATH } from './paths.ts';

/** An HTTP server that listens before its routes exist. Until then it answers `/livez`, and all other requests wait. */
export interface Listener {
  readonly server: Server;
  /** Sets the listener of requests, to which the waiting requests go once the listener is open. */
  adopt(handler: RequestListener, limits: HttpLimits): void;
  /** Call it when the routes exist. */
  open(): void;
  /** Closes the server and its connections. */
  close(): Promise<void>;
}

/**
 * Listens on an address. Only modules that load fast are needed, so that the first request is answered long before the replica is open.
 *
 * @throws Node's own error if it cannot listen
 */
export async function listenEarly(host: string, port: number): Promise<Listener> {
  const listener = createListener();
  await listen(listener.server, host, port);
  return listener;
}

function createListener(): Listener {
  const waiting: [IncomingMessage, ServerResponse][] = [];
  let handle: RequestListener | null = null;
  let isOpen = false;
  const server = createServer(parserOptions(HTTP_LIMITS), (request, response) => {
    if (isOpen && handle !== null) handle(request, response);
    else if (isLiveness(request)) answerAlive(request, response);
    else waiting.push([request, response]);
  });
  server.keepAliveTimeout = HTTP_LIMITS.keepAliveTimeoutMs;
  server.requestTimeout = HTTP_LIMITS.requestTimeoutMs;
  server.maxConnections = HTTP_LIMITS.connectionsMax;
  return {
    server,
    adopt: (handler, { idleTimeoutMs }) => {
      handle = handler;
      server.setTimeout(idleTimeoutMs);
    },
    open: () => {
      isOpen = true;
      for (const [request, response] of waiting.splice(0)) {
        if (!request.socket.destroyed) server.emit('request', request, response);
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Returns the limits of Node's HTTP parser. */
export function parserOptions(limits: HttpLimits) {
  return {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, limits.headersTimeoutMs),
    // The access control rejects a missing Host header, with the usual envelope.
    requireHostHeader: false,
  };
}

/** Listens on a port; resolves once the server is bound. */
export async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function isLiveness({ method, url = '' }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && url.split('?', 1)[0] === LIVE_PATH;
}

function answerAlive({ method }: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify({ status: 'ok' });
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-request-id': randomUUID(),
    'x-content-type-options': 'nosniff',
  });
  response.end(method === 'HEAD' ? undefined : body);
}
