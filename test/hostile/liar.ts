import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A response of the sandbox on its way to sightline. A lie changes it in place. */
export interface Exchange {
  readonly method: string;
  /** Target of the request line as received. */
  readonly target: string;
  /** Path below `/v1`, such as `/brands`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Requests seen so far, this one included. */
  readonly count: number;
  status: number;
  /** Lower-case names; set one to `undefined` to remove it. `content-length` is computed unless set. */
  headers: Record<string, string | undefined>;
  body: Buffer;
  /** If set, written to the socket as the whole response. */
  raw: Buffer | null;
  /** Parses the body, lets `change` edit or replace it, and writes it back. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a lie knows the body that it edits
  edit(change: (body: any) => unknown): void;
}

/** A server that passes requests on to the sandbox and changes its responses. */
export interface Liar {
  readonly baseUrl: string;
  /** Starts or, with null, stops lying. */
  tell(lie: ((exchange: Exchange) => void) | null): void;
  /** Requests answered with a changed response. */
  readonly told: () => number;
}

/** Starts a proxy in front of `upstream` (the sandbox's base URL); it ends with the test. */
export async function startLiar(upstream: string): Promise<Liar> {
  const liar = await openLiar(upstream);
  onTestFinished(() => liar.close());
  return liar;
}

/** Starts a proxy that the caller closes. */
export async function openLiar(upstream: string): Promise<Liar & { close(): Promise<void> }> {
  const target = new URL(upstream);
  let lie: ((exchange: Exchange) => void) | null = null;
  let count = 0;
  let told = 0;
  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    incoming: IncomingMessage,
    body: Buffer,
  ): void => {
    const url = new URL(request.url ?? '/', target);
    const headers: Record<string, string | undefined> = {};
    for (const [name, value] of Object.entries(incoming.headers)) headers[name] = String(value);
    for (const name of ['content-length', 'transfer-encoding', 'connection', 'keep-alive']) headers[name] = undefined;
    const exchange: Exchange = {
      method: request.method ?? '',
      target: request.url ?? '',
      path: url.pathname.slice(target.pathname.length),
      query: url.searchParams,
      count,
      status: incoming.statusCode ?? 0,
      headers,
      body,
      raw: null,
      edit: (change) => {
        const parsed: unknown = JSON.parse(exchange.body.toString());
        exchange.body = Buffer.from(JSON.stringify(change(parsed) ?? parsed));
      },
    };
    const before = JSON.stringify([exchange.status, exchange.headers, exchange.body.length]);
    lie?.(exchange);
    const isChanged =
      exchange.raw !== null ||
      exchange.body !== body ||
      JSON.stringify([exchange.status, exchange.headers, exchange.body.length]) !== before;
    if (isChanged) told += 1;
    if (exchange.raw !== null) {
      (response.socket as Socket).end(exchange.raw);
      return;
    }
    exchange.headers['content-length'] ??= String(exchange.body.length);
    response.sendDate = exchange.headers['date'] !== undefined;
    const defined = Object.entries(exchange.headers).filter(([, value]) => value !== undefined);
    response.writeHead(exchange.status, Object.fromEntries(defined) as Record<string, string>);
    response.end(exchange.body);
  };
  const server = createServer((request, response) => {
    count += 1;
    response.on('error', () => undefined);
    const onward = send(
      { host: target.hostname, port: target.port, path: request.url, method: request.method, headers: request.headers },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () => answer(request, response, incoming, Buffer.concat(chunks)));
      },
    );
    onward.on('error', () => response.destroy());
    onward.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname}`,
    tell: (next) => {
      lie = next;
    },
    told: () => told,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
