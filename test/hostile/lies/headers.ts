import type { Lie } from '../attack.ts';
import { header, isAlerts, reply } from './tell.ts';

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
    title: 'returns 403 on one endpoint',
    on: isAlerts,
    tell: reply(403, '{"error":{"code":"forbidden","message":"not for you"}}'),
    ends: ['partial'],
    says: /rejected \S+\/alerts \(403\): not for you/,
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
];

const YEAR_9999 = 'Fri, 31 Dec 9999 23:59:59 GMT';

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
    title: 'dates every response 9999',
    tell: header('date', () => YEAR_9999),
    ends: ['failed'],
    says: /upstream's clock is at 9999-12-31 23:59 UTC/,
  },
];
