import type { Lie } from '../attack.ts';
import { edit, editEach, isBrands, isDayCounts, isResponses, once } from './tell.ts';

const DAY_MS = 86_400_000;
const FIRST_YEAR = '0001-01-01T00:00:00Z';
const LAST_YEAR = '9999-12-31T23:59:59Z';

/** Returns a time moved by `ms`. */
const moved = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString();
/** Returns the start of a day moved by `ms`. */
const movedDay = (day: string | null, ms: number): string => moved(`${day}T00:00:00Z`, ms);

const countTwice = edit(({ data }) => {
  const [first] = data;
  if (first !== undefined) data.push({ ...first, responses: first.responses + 7 });
});

/** Times of items. */
export const itemTimeLies: readonly Lie[] = [
  {
    title: 'creates every response two days too late',
    on: isResponses,
    tell: editEach((item) => Object.assign(item, { createdAt: moved(item.createdAt, 2 * DAY_MS) })),
    ends: ['partial'],
    says: /allowed: the requested days/,
  },
  {
    title: 'writes times with an offset from UTC, which is allowed',
    attacks: 'first',
    on: isResponses,
    tell: editEach((item) =>
      Object.assign(item, { createdAt: moved(item.createdAt, 14 * 3_600_000).replace('Z', '+14:00') }),
    ),
    ends: ['complete'],
  },
  {
    title: 'reports numbers of every day for the day before the requested days',
    on: isDayCounts,
    tell: editEach((item, { query }) =>
      Object.assign(item, { date: movedDay(query.get('from'), -DAY_MS).slice(0, 10) }),
    ),
    ends: ['partial'],
    says: /date is .*; allowed: the requested days/,
  },
  {
    title: 'reports a day twice with different counts, once',
    // A second row per day in a response without rows per engine is rejected as an ignored parameter instead.
    on: (exchange) => isDayCounts(exchange) && ![...exchange.query.values()].includes('none'),
    tell: once(countTwice),
    // The counts are read again in the same run and agree then.
    ends: ['complete'],
    says: /metrics_daily\[\] key/,
  },
  {
    title: 'reports a day twice with different counts, always',
    on: isDayCounts,
    tell: countTwice,
    ends: ['partial'],
    says: /counted, \d+ stored/,
  },
  {
    title: 'sends a brand created in the year 1 and another created in the year 9999',
    world: 'small',
    attacks: 'first',
    on: isBrands,
    tell: edit((body) => {
      const [first, second] = body.data ?? body;
      first.createdAt = FIRST_YEAR;
      second.createdAt = LAST_YEAR;
    }),
    ends: ['complete'],
    says: /createdAt of .* is 0001-01-01.*\n.*createdAt of .* is 9999-12-31/,
  },
  {
    title: 'sends brands without a creation date',
    attacks: 'first',
    on: isBrands,
    tell: editEach((brand) => Object.assign(brand, { createdAt: null })),
    ends: ['complete'],
  },
  {
    title: 'returns reports for the year before the requested days',
    on: ({ path }) => /\/metrics(\/prompts|\/groups)?$/.test(path),
    tell: edit((body) => {
      for (const name of ['from', 'to']) body[name] = movedDay(body[name], -365 * DAY_MS).slice(0, 10);
    }),
    ends: ['partial'],
    says: /it is for from=/,
  },
];
