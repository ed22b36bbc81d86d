import type { Lie } from '../attack.ts';
import type { Exchange } from '../liar.ts';

/** Limits that no API has; each response uses the next one. */
const LIMITS = ['0', '-5', '119.5', 'unlimited', '', '9'.repeat(300), '10001', '0x78', '1e3'];

/** Whether the request is for a list of which a single slice may fail. */
const isAlerts = ({ path }: Exchange): boolean => path.endsWith('/alerts');

function isFirst(state: Map<string, unknown>, what: string): boolean {
  if (state.has(what)) return false;
  state.set(what, true);
  return true;
}

function replaced(exchange: Exchange, status: number, body = '', headers: Record<string, string> = {}): void {
  Object.assign(exchange, { status, body: Buffer.from(body) });
  Object.assign(exchange.headers, headers);
}

function retryAfter(value: string): Lie['tell'] {
  return (exchange, state) => {
    if (isAlerts(exchange) && isFirst(state, 'refusal')) replaced(exchange, 429, '', { 'retry-after': value });
  };
}

export const headerLies: readonly Lie[] = [
  {
    title: 'sends a limit of 999999999 requests a minute with none left, in one response',
    tell: ({ count, headers }) => {
      if (count === 2) Object.assign(headers, { 'x-ratelimit-limit': '999999999', 'x-ratelimit-remaining': '0' });
    },
    exits: [0],
    says: /header x-ratelimit-limit implausible_value allowed: 1 to 10000/,
  },
  {
    title: 'sends limits that are not integers between 1 and 10000',
    // The first response has a valid limit; without any, a sync sends 120 requests per minute.
    tell: ({ count, headers }) => {
      if (count > 1) headers['x-ratelimit-limit'] = LIMITS[count % LIMITS.length];
    },
    exits: [0],
    says: /header x-ratelimit-limit implausible_value/,
  },
  {
    title: 'sends more remaining requests than its limit',
    tell: ({ headers }) => {
      headers['x-ratelimit-remaining'] = '10001';
    },
    exits: [0],
    says: /header x-ratelimit-remaining implausible_value/,
  },
  {
    title: 'returns 429 without a body and with a Retry-After of 32 billion years',
    tell: retryAfter('999999999999999999'),
    exits: [0],
    says: /header retry-after implausible_value/,
  },
  {
    title: 'returns 403 on one endpoint',
    tell: (exchange) => {
      if (isAlerts(exchange)) replaced(exchange, 403, '{"error":{"code":"forbidden","message":"not for you"}}');
    },
    exits: [3],
    says: /rejected \S+\/alerts \(403\): not for you/,
  },
  {
    title: 'returns 403 plan_required on one endpoint',
    tell: (exchange) => {
      if (isAlerts(exchange)) replaced(exchange, 403, '{"error":{"code":"plan_required","message":"no plan"}}');
    },
    exits: [1],
    says: /rejected the workspace \(403\)/,
  },
  {
    title: 'returns 401 on one endpoint',
    tell: (exchange) => {
      if (isAlerts(exchange)) replaced(exchange, 401);
    },
    exits: [1],
    says: /rejected the key \(401\)/,
  },
  {
    title: 'returns 404 for one list of an existing brand',
    brands: 2,
    tell: (exchange) => {
      if (isAlerts(exchange)) replaced(exchange, 404);
    },
    exits: [3],
    says: /404/,
  },
  {
    title: 'returns 404 for everything of a listed brand',
    brands: 2,
    tell: (exchange, state) => {
      const brand = /^\/brands\/([^/]+)/.exec(exchange.path)?.[1];
      if (brand !== undefined && brand === (state.get('brand') ?? brand)) {
        state.set('brand', brand);
        replaced(exchange, 404);
      }
    },
    exits: [0, 3],
  },
  {
    title: 'returns 500 with a web page',
    tell: (exchange) => {
      if (isAlerts(exchange)) replaced(exchange, 500, '<html><script>alert(1)</script></html>');
    },
    exits: [3],
    says: /failed on \S+\/alerts \(500\)/,
  },
  {
    title: 'returns 204 instead of a list',
    tell: (exchange) => {
      if (isAlerts(exchange)) replaced(exchange, 204);
    },
    exits: [3],
    says: /alerts \(204\)/,
  },
  {
    title: 'sends headers of 200 kB',
    tell: (exchange) => {
      if (isAlerts(exchange)) exchange.headers['x-padding'] = 'x'.repeat(200_000);
    },
    exits: [3],
    says: /its headers exceed 16 KiB/,
  },
  {
    title: 'sends a Content-Length below the length of the body',
    tell: (exchange) => {
      if (isAlerts(exchange)) exchange.headers['content-length'] = '12';
    },
    exits: [3],
    says: /alerts/,
  },
  {
    title: 'ends a chunked body in the middle of a chunk',
    tell: (exchange) => {
      if (!isAlerts(exchange)) return;
      exchange.raw = Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n400\r\n{"data":[');
    },
    exits: [3],
    says: /connection closed/,
  },
];
