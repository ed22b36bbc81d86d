import { NOW_MS } from '../../support/clocks.ts';
import type { Lie } from '../attack.ts';
import type { Exchange } from '../liar.ts';
import { header, isAlerts, once, reply } from './tell.ts';

/** Limits that no API has; each response uses the next one. */
const LIMITS = ['0', '-5', '119.5', 'unlimited', '', '9'.repeat(300), '10001', '0x78', '1e3'];

/** Headers and statuses. */
export const headerLies: readonly Lie[] = [
  {
    title: 'sends a limit of 999999999 requests a minute with none left, in one response',
    on: ({ count }) => count === 2,
    tell: ({ headers }) =>
      void Object.assign(headers, { 'x-ratelimit-limit': '999999999', 'x-ratelimit-remaining': '0' }),
    ends: ['complete'],
    says: /header x-ratelimit-limit implausible_value allowed: 1 to 10000/,
  },
  {
    title: 'sends limits that are not integers between 1 and 10000',
    // The first response has a valid limit; without any, a sync sends 120 requests per minute.
    on: ({ count }) => count > 1,
    tell: header('x-ratelimit-limit', ({ count }) => LIMITS[count % LIMITS.length]),
    ends: ['complete'],
    says: /header x-ratelimit-limit implausible_value/,
  },
  {
    title: 'sends more remaining requests than its limit',
    tell: header('x-ratelimit-remaining', () => '10001'),
    ends: ['complete'],
    says: /header x-ratelimit-remaining implausible_value/,
  },
  {
    title: 'returns 429 without a body and with a Retry-After of 32 billion years',
    on: isAlerts,
    tell: once(reply(429, '', { 'retry-after': '999999999999999999' })),
    ends: ['complete'],
    says: /header retry-after implausible_value/,
  },
  {
    title: 'returns 403 on one endpoint',
    on: isAlerts,
    tell: reply(403, '{"error":{"code":"forbidden","message":"not for you"}}'),
    ends: ['partial'],
    says: /rejected \S+\/alerts \(403\): not for you/,
  },
  {
    title: 'returns 403 plan_required on one endpoint',
    on: isAlerts,
    tell: reply(403, '{"error":{"code":"plan_required","message":"no plan"}}'),
    ends: ['failed'],
    says: /rejected the workspace \(403\)/,
  },
  {
    title: 'returns 401 on one endpoint',
    on: isAlerts,
    tell: reply(401, ''),
    ends: ['failed'],
    says: /rejected the key \(401\)/,
  },
  {
    title: 'returns 404 for one list of an existing brand',
    world: 'small',
    on: isAlerts,
    tell: reply(404, ''),
    ends: ['partial'],
    says: /404/,
  },
  {
    title: 'returns 404 for everything of a listed brand',
    world: 'small',
    tell: (exchange, state) => {
      const brand = /^\/brands\/([^/]+)/.exec(exchange.path)?.[1];
      if (brand === undefined || brand !== (state.get('brand') ?? brand)) return;
      state.set('brand', brand);
      reply(404, '')(exchange, state);
    },
    ends: ['complete', 'partial'],
  },
  {
    title: 'returns 500 with a web page',
    on: isAlerts,
    tell: reply(500, '<html><script>alert(1)</script></html>'),
    ends: ['partial'],
    says: /failed on \S+\/alerts \(500\)/,
  },
  {
    title: 'returns 204 instead of a list',
    on: isAlerts,
    tell: reply(204, ''),
    // It is an empty list, like one without items.
    ends: ['complete'],
  },
  {
    title: 'sends headers of 200 kB',
    on: isAlerts,
    tell: header('x-padding', () => 'x'.repeat(200_000)),
    ends: ['partial'],
    says: /its headers exceed 16 KiB/,
  },
  {
    title: 'sends a Content-Length below the length of the body',
    on: isAlerts,
    tell: header('content-length', () => '12'),
    ends: ['partial'],
    says: /alerts/,
  },
  {
    title: 'ends a chunked body in the middle of a chunk',
    on: isAlerts,
    tell: (exchange) => {
      exchange.raw = Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n400\r\n{"data":[');
    },
    ends: ['partial'],
    says: /connection closed/,
  },
];

const DAY_MS = 86_400_000;
const YEAR_9999 = 'Fri, 31 Dec 9999 23:59:59 GMT';
const shifted = (ms: number): string => new Date(NOW_MS + ms).toUTCString();

// The forms of RFC 850 and asctime(), a wrong weekday, and no date.
function malformed({ count }: Exchange): string {
  const date = shifted(0);
  const forms = [
    date.replace(/^(...), (..) (...) ..(..)/, '$1day, $2-$3-$4'),
    date.replace(/^(...), (..) (...) (....) (\S+) GMT/, '$1 $3 $2 $5 $4'),
    date.replace(/^.../, shifted(DAY_MS).slice(0, 3)),
    'yesterday',
  ];
  return forms[count % forms.length] as string;
}

/** The header Date. */
export const dateHeaderLies: readonly Lie[] = [
  {
    title: 'dates its first response 9999',
    on: ({ count }) => count === 1,
    tell: header('date', () => YEAR_9999),
    ends: ['complete'],
    says: /has the date Fri, 31 Dec 9999 23:59:59 GMT/,
  },
  {
    title: 'dates its first response 9999, in the first sync',
    attacks: 'first',
    on: ({ count }) => count === 1,
    tell: header('date', () => YEAR_9999),
    ends: ['complete'],
  },
  {
    title: 'dates one of many responses 9999',
    attacks: 'first',
    on: ({ count }) => count === 6,
    tell: header('date', () => YEAR_9999),
    ends: ['complete'],
    says: /header date/,
  },
  {
    title: 'dates every response 9999',
    tell: header('date', () => YEAR_9999),
    ends: ['failed'],
    says: /upstream's clock is at 9999-12-31 23:59 UTC/,
  },
  {
    title: 'dates every response 1970',
    attacks: 'first',
    tell: header('date', () => 'Thu, 01 Jan 1970 00:00:00 GMT'),
    ends: ['failed'],
    says: /upstream's clock is at 1970-01-01 00:00 UTC/,
  },
  { title: 'sends no date', tell: header('date', () => undefined), ends: ['complete'] },
  {
    title: 'writes dates in forms that are not allowed',
    tell: header('date', malformed),
    ends: ['complete'],
    says: /header date/,
  },
  {
    title: 'sends two dates',
    tell: (exchange) => {
      const { body } = exchange;
      const lines = Object.entries(exchange.headers).filter(([name, value]) => name !== 'date' && value !== undefined);
      const head = [
        `HTTP/1.1 ${exchange.status} OK`,
        ...lines.map(([name, value]) => `${name}: ${value}`),
        `date: ${shifted(0)}`,
        `date: ${YEAR_9999}`,
        `content-length: ${body.length}`,
        'connection: close',
      ];
      exchange.raw = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
    },
    ends: ['complete'],
    says: /header date/,
  },
  {
    title: 'is two hours ahead',
    attacks: 'first',
    tell: header('date', () => shifted(7_200_000)),
    ends: ['complete'],
    says: /upstream's clock is [12]\.\d hours ahead of this machine's/,
  },
  {
    title: 'dates responses at random',
    tell: header('date', ({ count }) => shifted((((count * 7_919) % 4_001) - 2_000) * DAY_MS)),
    ends: ['complete'],
    says: /header date/,
  },
];
