import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import type { Attempt } from '../../src/contract/request.ts';
import { createBudget } from '../../src/upstream/budget/budget.ts';
import { CLIENT_LIMITS, type ClientLimits, type ClientOptions, createClient } from '../../src/upstream/client.ts';
import { UpstreamError } from '../../src/upstream/errors.ts';
import { leapingClock } from '../support/clocks.ts';

/** API key of the client. */
export const KEY = 'gsk_secret_0123456789abcdef';

/** Time that a request takes, by the clock of the client. */
const REQUEST_MS = 100;

/** Responds to the request with this number, from 1. */
export type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

interface Setup {
  readonly limits?: Partial<ClientLimits>;
  readonly options?: Partial<ClientOptions>;
  readonly base?: string;
}

/** Starts a server with the test's handler and a client, and records requests and attempts. */
export async function openClient(handler: Handler, { limits = {}, options = {}, base = '/v1' }: Setup = {}) {
  const requests: IncomingMessage[] = [];
  const leaping = leapingClock(Date.parse('2026-03-15T12:00:00Z'));
  const server = createServer((request, response) => {
    requests.push(request);
    leaping.advance(REQUEST_MS);
    handler(request, response, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const slept: number[] = [];
  const clock: Clock = {
    ...leaping,
    random: () => 0.999,
    sleep: (ms, signal) => {
      slept.push(ms);
      return leaping.sleep(ms, signal);
    },
  };
  const client = createClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    key: KEY,
    keyHeader: 'authorization',
    budget: createBudget({ clock }),
    clock,
    connections: 4,
    limits: { ...CLIENT_LIMITS, ...limits },
    ...options,
  });
  onTestFinished(() => client.close());
  const attempts: Attempt[] = [];
  const { signal } = new AbortController();
  const get = (query: Record<string, string> = {}, read: (body: unknown) => unknown = (body) => body) =>
    client.get({ path: '/things', query }, read, { signal, onAttempt: (attempt) => attempts.push(attempt) });
  const failure = async (): Promise<UpstreamError> => {
    const thrown = await get().then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(thrown).toBeInstanceOf(UpstreamError);
    return thrown as UpstreamError;
  };
  return { client, get, failure, requests, attempts, slept, server, clock };
}

/** Responds with JSON. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
