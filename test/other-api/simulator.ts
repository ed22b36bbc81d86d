import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generateLibrary, type Item, type Library } from './generated-items.ts';
import { type Collection, readSpecification, type Specification } from './specification.ts';

/** Options of the simulator. */
export interface SimulatorOptions {
  readonly port?: number;
  readonly seed?: number;
  /** Least and most items of a collection; default: 0 and 130. */
  readonly items?: readonly [number, number];
  /** Requests per minute; default: 120. */
  readonly requestsPerMinute?: number;
  /** Time in epoch milliseconds, for the rate limit and the header Date; default: real time. */
  readonly clock?: () => number;
}

/** A running simulator. */
export interface Simulator {
  /** Address of the API, without a trailing slash. */
  readonly baseUrl: string;
  readonly specification: Specification;
  readonly library: Library;
  /** Paths with queries of all requests, in order of arrival. */
  readonly requests: string[];
  /** Number of requests that the rate limit rejected. */
  rejected(): number;
  close(): Promise<void>;
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const PAGE_SIZE = 50;
const PAGE_SIZE_MAX = 100;
const MINUTE_MS = 60_000;

/**
 * Serves the API of the specification on the loopback interface, with generated items. The specification does not define a rate
 * limit and a key; the simulator requires some bearer token and limits all requests together.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { port = 0, seed = 1, items: [least, most] = [0, 130], requestsPerMinute = 120, clock = Date.now } = options;
  const specification = readSpecification();
  const library = generateLibrary(specification, seed, least, most);
  const requests: string[] = [];
  let sent: number[] = [];
  let rejected = 0;
  let baseUrl = '';

  const replyTo = (request: IncomingMessage): Reply => {
    const url = new URL(request.url ?? '/', baseUrl);
    if (url.pathname === '/openapi.json')
      return { status: 200, body: { ...specification, servers: [{ url: baseUrl }] } };
    requests.push(request.url ?? '');
    if (request.method !== 'GET') return errorReply(405, 'METHOD_NOT_ALLOWED', 'Only GET is allowed.');
    if (!/^Bearer \S+$/.test(request.headers.authorization ?? '')) return errorReply(401, 'UNAUTHORIZED', 'No key.');
    const now = clock();
    sent = sent.filter((at) => at > now - MINUTE_MS);
    if (sent.length >= requestsPerMinute) {
      rejected += 1;
      const seconds = Math.ceil(((sent[0] ?? now) + MINUTE_MS - now) / 1000);
      return {
        ...errorReply(429, 'TOO_MANY_REQUESTS', `Wait ${seconds} s.`),
        headers: { 'Retry-After': String(seconds) },
      };
    }
    sent.push(now);
    const headers = {
      'X-RateLimit-Limit': String(requestsPerMinute),
      'X-RateLimit-Remaining': String(requestsPerMinute - sent.length),
    };
    return { headers, ...answer(library, url) };
  };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    const { status, body, headers } = replyTo(request);
    response.writeHead(status, {
      'Content-Type': 'application/json',
      Date: new Date(clock()).toUTCString(),
      ...headers,
    });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { baseUrl, specification, library, requests, rejected: () => rejected, close };
}

function answer(library: Library, { pathname, searchParams }: URL): Reply {
  const list = library.collections.find(({ path }) => path === pathname);
  if (list !== undefined) return answerList(list, library.items.get(list.path) ?? [], searchParams);
  const collection = library.collections.find(({ itemPath }) => itemPath === pathname);
  const item = library.items.get(collection?.path ?? '')?.find(({ uid }) => uid === searchParams.get('uid'));
  if (collection === undefined || item === undefined) return errorReply(404, 'NOT_FOUND', 'There is no such item.');
  return { status: 200, body: { [collection.itemMember]: library.fullItem(collection, item) } };
}

// Pages are numbered from 0.
function answerList({ member }: Collection, items: readonly Item[], query: URLSearchParams): Reply {
  const pageNumber = numberOf(query, 'pageNumber', 0, Number.MAX_SAFE_INTEGER);
  const pageSize = numberOf(query, 'pageSize', PAGE_SIZE, PAGE_SIZE_MAX);
  if (pageNumber === null || pageSize === null || pageSize === 0) {
    return errorReply(400, 'INVALID_PARAMETER', `pageSize: 1 to ${PAGE_SIZE_MAX}; pageNumber: 0 or more.`);
  }
  const shown = items.slice(pageNumber * pageSize, (pageNumber + 1) * pageSize);
  const totalPages = Math.ceil(items.length / pageSize);
  const page = {
    pageNumber,
    pageSize,
    numberOfElements: shown.length,
    totalElements: items.length,
    totalPages,
    firstPage: pageNumber === 0,
    lastPage: pageNumber >= totalPages - 1,
  };
  return { status: 200, body: { page, sort: { clauses: [] }, [member]: shown } };
}

function numberOf(query: URLSearchParams, name: string, standard: number, most: number): number | null {
  const text = query.get(name);
  if (text === null) return standard;
  return /^\d{1,9}$/.test(text) && Number(text) <= most ? Number(text) : null;
}

function errorReply(status: number, code: string, message: string): Reply {
  return { status, body: { code, message } };
}
