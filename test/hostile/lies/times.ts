import type { Lie } from '../attack.ts';
import type { Exchange } from '../liar.ts';

const DAY_MS = 86_400_000;
const FIRST_YEAR = '0001-01-01T00:00:00Z';
const LAST_YEAR = '9999-12-31T23:59:59Z';

// biome-ignore lint/suspicious/noExplicitAny: a lie knows the items that it edits
type Item = any;

/** Changes one item of the first non-empty list of a path. */
function editOne(exchange: Exchange, path: string, state: Map<string, unknown>, change: (item: Item) => void): void {
  if (!exchange.path.endsWith(path) || exchange.status !== 200 || state.has(path)) return;
  const body = JSON.parse(exchange.body.toString()) as { data?: Item[] };
  if (body.data === undefined || body.data.length === 0) return;
  state.set(path, true);
  exchange.edit(({ data }: { data: Item[] }) => change(data[Math.floor(data.length / 2)]));
}

/** Returns a time moved by `ms`. */
function moved(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString();
}

function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}

/** The date of the response as upstream sent it, epoch milliseconds. */
function dateOf({ headers }: Exchange): number {
  return Date.parse(headers['date'] ?? '');
}

/** Changes the time of one item of a list. */
function itemTime(title: string, path: string, change: (item: Item) => void, rest: Pick<Lie, 'says' | 'attacks'>): Lie {
  return { title, tell: (exchange, state) => editOne(exchange, path, state, change), exits: [3], ...rest };
}

const inYearOne = (item: Item): void => {
  item.createdAt = FIRST_YEAR;
};

function countTwice(body: { data: Item[] }): void {
  const [first] = body.data;
  if (first !== undefined) body.data.push({ ...first, responses: first.responses + 7 });
}

export const itemTimeLies: readonly Lie[] = [
  itemTime('creates a response in the year 1', '/responses', inYearOne, {
    says: /createdAt is 0001-01-01 00:00:00.000000; allowed: the requested days/,
  }),
  itemTime('creates a response in the year 1, in the first sync', '/responses', inYearOne, { attacks: 'first' }),
  itemTime(
    'creates a response in the year 9999',
    '/responses',
    (item) => {
      item.createdAt = LAST_YEAR;
    },
    { attacks: 'first', says: /createdAt is 9999-12-31/ },
  ),
  {
    title: 'creates every response two days too late',
    tell: (exchange) => {
      if (!exchange.path.endsWith('/responses')) return;
      exchange.edit(({ data }: { data: Item[] }) => {
        for (const item of data) item.createdAt = moved(item.createdAt, 2 * DAY_MS);
      });
    },
    exits: [3],
    says: /allowed: the requested days/,
  },
  {
    title: 'lists a response an hour before the requested days',
    tell: (exchange, state) =>
      editOne(exchange, '/responses', state, (item) => {
        item.createdAt = moved(`${exchange.query.get('from')}T00:00:00Z`, -3_600_000);
      }),
    attacks: 'first',
    exits: [3],
    says: /allowed: the requested days/,
  },
  {
    title: 'creates a response without a time',
    tell: (exchange, state) =>
      editOne(exchange, '/responses', state, (item) => {
        item.createdAt = null;
      }),
    attacks: 'first',
    exits: [3],
    says: /createdAt is null/,
  },
  {
    title: 'writes times with an offset from UTC, which is allowed',
    tell: (exchange) => {
      if (!exchange.path.endsWith('/responses')) return;
      exchange.edit(({ data }: { data: Item[] }) => {
        for (const item of data) item.createdAt = moved(item.createdAt, 14 * 3_600_000).replace('Z', '+14:00');
      });
    },
    exits: [0],
    attacks: 'first',
  },
  {
    title: 'reports numbers of a day in the year 1',
    tell: (exchange, state) =>
      editOne(exchange, '/metrics/daily', state, (item) => {
        item.date = '0001-01-01';
      }),
    exits: [3],
    attacks: 'first',
    says: /date is 0001-01-01/,
  },
  {
    title: 'reports numbers of every day for the day before the requested days',
    tell: (exchange) => {
      if (!exchange.path.endsWith('/metrics/daily')) return;
      exchange.edit(({ data }: { data: Item[] }) => {
        for (const item of data) item.date = moved(`${exchange.query.get('from')}T00:00:00Z`, -DAY_MS).slice(0, 10);
      });
    },
    exits: [3],
    says: /date is .*; allowed: the requested days/,
  },
  {
    title: 'reports a day twice with different counts, once',
    tell: (exchange, state) => {
      if (!exchange.path.endsWith('/metrics/daily') || state.has('twice')) return;
      // A second row per day in a response without rows per engine is rejected as an ignored parameter instead.
      if ([...exchange.query.values()].includes('none')) return;
      state.set('twice', true);
      exchange.edit(countTwice);
    },
    // The counts are read again in the same run and agree then.
    exits: [0],
    says: /metrics_daily\[\] key/,
  },
  {
    title: 'reports a day twice with different counts, always',
    tell: (exchange) => {
      if (exchange.path.endsWith('/metrics/daily')) exchange.edit(countTwice);
    },
    exits: [3],
    says: /counted, \d+ stored/,
  },
  {
    title: 'sends a brand created in the year 1 and another created in the year 9999',
    tell: (exchange) => {
      if (exchange.path !== '/brands') return;
      exchange.edit((body) => {
        const [first, second] = body.data ?? body;
        first.createdAt = FIRST_YEAR;
        second.createdAt = LAST_YEAR;
      });
    },
    attacks: 'first',
    exits: [0],
    says: /createdAt of .* is 0001-01-01.*\n.*createdAt of .* is 9999-12-31/,
  },
  {
    title: 'sends brands without a creation date',
    tell: (exchange) => {
      if (exchange.path !== '/brands') return;
      exchange.edit((body) => {
        for (const brand of body.data ?? body) brand.createdAt = null;
      });
    },
    attacks: 'first',
    exits: [0],
  },
  {
    title: 'returns reports for the year before the requested days',
    tell: (exchange) => {
      if (!/\/metrics(\/prompts|\/groups)?$/.test(exchange.path)) return;
      exchange.edit((body) => {
        for (const name of ['from', 'to']) body[name] = moved(`${body[name]}T00:00:00Z`, -365 * DAY_MS).slice(0, 10);
      });
    },
    exits: [3],
    says: /it is for from=/,
  },
  itemTime(
    'detects an alert in the year 9999',
    '/alerts',
    (item) => {
      item.detectedAt = LAST_YEAR;
    },
    { attacks: 'first', says: /detectedAt is 9999-12-31/ },
  ),
  {
    title: 'last checks a prompt and generates a plan in the year 9999',
    tell: (exchange, state) => {
      editOne(exchange, '/prompts', state, (item) => {
        item.lastCheckedAt = LAST_YEAR;
      });
      editOne(exchange, '/action-plans', state, (item) => {
        item.generatedAt = LAST_YEAR;
      });
    },
    exits: [3],
    says: /lastCheckedAt is 9999-12-31/,
  },
];

/** A lie about the Date header of some responses. */
function dated(
  title: string,
  isTold: (exchange: Exchange) => boolean,
  header: (exchange: Exchange) => string | undefined,
  lie: Partial<Lie>,
): Lie {
  return {
    title,
    tell: (exchange) => {
      if (isTold(exchange)) exchange.headers['date'] = header(exchange);
    },
    exits: [0],
    ...lie,
  };
}

// The forms of RFC 850 and asctime(), a wrong weekday, and no date.
function malformed(exchange: Exchange): string {
  const date = httpDate(dateOf(exchange));
  const forms = [
    date.replace(/^(...), (..) (...) ..(..)/, '$1day, $2-$3-$4'),
    date.replace(/^(...), (..) (...) (....) (\S+) GMT/, '$1 $3 $2 $5 $4'),
    date.replace(/^.../, httpDate(dateOf(exchange) + DAY_MS).slice(0, 3)),
    'yesterday',
  ];
  return forms[exchange.count % forms.length] as string;
}

const every = (): boolean => true;
const isFirst = ({ count }: Exchange): boolean => count === 1;

export const dateHeaderLies: readonly Lie[] = [
  dated('dates its first response 9999', isFirst, () => 'Fri, 31 Dec 9999 23:59:59 GMT', {
    says: /has the date Fri, 31 Dec 9999 23:59:59 GMT/,
  }),
  dated('dates its first response 9999, in the first sync', isFirst, () => 'Fri, 31 Dec 9999 23:59:59 GMT', {
    attacks: 'first',
  }),
  dated(
    'dates one of many responses 9999',
    ({ count }) => count === 12,
    () => 'Fri, 31 Dec 9999 23:59:59 GMT',
    {
      attacks: 'first',
      says: /header date/,
    },
  ),
  dated('dates every response 9999', every, () => 'Fri, 31 Dec 9999 23:59:59 GMT', {
    exits: [1],
    says: /upstream's clock is at 9999-12-31 23:59 UTC/,
  }),
  dated('dates every response 1970', every, () => 'Thu, 01 Jan 1970 00:00:00 GMT', {
    attacks: 'first',
    exits: [1],
    says: /upstream's clock is at 1970-01-01 00:00 UTC/,
  }),
  dated('sends no date', every, () => undefined, {}),
  dated('writes dates in forms that are not allowed', every, (exchange) => malformed(exchange), {
    says: /header date/,
  }),
  {
    title: 'sends two dates',
    tell: (exchange) => {
      const { body } = exchange;
      const lines = Object.entries(exchange.headers).filter(([name, value]) => name !== 'date' && value !== undefined);
      const head = [
        `HTTP/1.1 ${exchange.status} OK`,
        ...lines.map(([name, value]) => `${name}: ${value}`),
        `date: ${httpDate(dateOf(exchange))}`,
        'date: Fri, 31 Dec 9999 23:59:59 GMT',
        `content-length: ${body.length}`,
        'connection: close',
      ];
      exchange.raw = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
    },
    exits: [0],
    says: /header date/,
  },
  dated('is two hours ahead', every, (exchange) => httpDate(dateOf(exchange) + 7_200_000), {
    says: /upstream's clock is [12]\.\d hours ahead of this machine's/,
    attacks: 'first',
  }),
  dated(
    'dates responses at random',
    every,
    (exchange) => httpDate(dateOf(exchange) + (((exchange.count * 7_919) % 4_001) - 2_000) * DAY_MS),
    {
      says: /header date/,
    },
  ),
];
