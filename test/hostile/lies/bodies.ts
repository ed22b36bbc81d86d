import { join } from 'node:path';
import { brotliCompressSync, deflateRawSync, gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { openReader } from '../../../src/warehouse/reader.ts';
import type { Lie } from '../attack.ts';
import type { Exchange } from '../liar.ts';

const MEGABYTE = 1_000_000;

/** Whether the request is for a list of which a single slice may fail. */
const isAlerts = ({ path }: Exchange): boolean => path.endsWith('/alerts');
const isPrompts = ({ path }: Exchange): boolean => path.endsWith('/prompts') && !path.endsWith('/metrics/prompts');
const isResponses = ({ path }: Exchange): boolean => path.endsWith('/responses');

function alertsAre(title: string, body: () => Buffer | string, says: RegExp, exits: readonly number[] = [3]): Lie {
  return {
    title,
    tell: (exchange) => {
      if (isAlerts(exchange)) exchange.body = Buffer.from(body());
    },
    exits,
    says,
  };
}

function encoded(title: string, coding: string, encode: (body: Buffer) => Buffer): Lie {
  return {
    title,
    tell: (exchange) => {
      exchange.body = encode(exchange.body);
      exchange.headers['content-encoding'] = coding;
    },
    exits: [0],
  };
}

function wronglyEncoded(title: string, coding: string, encode: (body: Buffer) => Buffer, says: RegExp): Lie {
  return {
    title,
    tell: (exchange) => {
      if (!isAlerts(exchange)) return;
      exchange.body = encode(exchange.body);
      exchange.headers['content-encoding'] = coding;
    },
    exits: [3],
    says,
  };
}

/** Edits the bodies of a list's first page. */
function edited(
  title: string,
  is: (exchange: Exchange) => boolean,
  // biome-ignore lint/suspicious/noExplicitAny: a lie knows the body that it edits
  change: (body: any) => unknown,
  how: Pick<Lie, 'exits'> & Partial<Lie>,
): Lie {
  return {
    title,
    tell: (exchange) => {
      if (is(exchange)) exchange.edit(change);
    },
    ...how,
  };
}

export const bodyLies: readonly Lie[] = [
  encoded('compresses every body with gzip, which was not requested', 'gzip', gzipSync),
  encoded('compresses every body with raw deflate, and then with Brotli', 'deflate, br', (body) =>
    brotliCompressSync(deflateRawSync(body)),
  ),
  wronglyEncoded(
    'sends 100 MB of spaces in 100 kB of gzip',
    'gzip',
    () => BOMB,
    /is too long when decoded; allowed: up to \d+ bytes/,
  ),
  wronglyEncoded(
    'cuts a gzip body in half',
    'gzip',
    (body) => gzipSync(body).subarray(0, 30),
    /Content-Encoding is gzip, but/,
  ),

  {
    title: 'begins every body with a byte order mark',
    tell: (exchange) => {
      exchange.body = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), exchange.body]);
    },
    exits: [0],
  },
  {
    title: 'sends bytes that are not UTF-8 in one prompt',
    tell: (exchange) => {
      if (!isPrompts(exchange)) return;
      const text = exchange.body.toString('latin1').replace('"text":"', '"text":"\xff\xfe');
      exchange.body = Buffer.from(text, 'latin1');
    },
    exits: [0, 3],
    says: /the item is not UTF-8/,
  },

  alertsAre('nests 10 MB of arrays', () => '['.repeat(10 * MEGABYTE), /nested too deeply; allowed: up to 100 levels/),
  alertsAre(
    'sends 20 MB of empty arrays',
    () => `{"data":[${'[],'.repeat(6_600_000)}[]],"nextCursor":null}`,
    /objects and arrays; allowed: up to 500000/,
  ),
  alertsAre(
    'sends 400000 empty objects instead of the requested 100 items',
    () => `{"data":[${'{},'.repeat(400_000)}{}],"nextCursor":null}`,
    /the list has 400001 items; allowed: up to 400/,
  ),
  edited(
    'sends 50000 items that are not rows in a list without a limit',
    ({ path }) => path.endsWith('/competitors'),
    (body) => ({ data: [...(Array.isArray(body) ? body : body.data), ...Array(50_000).fill([])] }),
    { exits: [0, 3], says: /100,000 items quarantined/ },
  ),
  edited(
    'sends a text of 20 MB in one prompt',
    isPrompts,
    (body) => {
      if (body.data.length > 0) body.data[0].text = 'x'.repeat(20 * MEGABYTE);
    },
    { exits: [0, 3], says: /characters of JSON; allowed: up to 4000000/ },
  ),
  {
    title: 'sends an OpenAPI description with a path of 10 MB of braces',
    tell: (exchange) => {
      if (!exchange.path.endsWith('/openapi.json')) return;
      exchange.body = Buffer.from(JSON.stringify({ paths: { ['{'.repeat(10 * MEGABYTE)]: {} } }));
    },
    exits: [0],
  },
  {
    title: 'names the unnamed parameter like another one in its OpenAPI description',
    tell: (exchange) => {
      if (!exchange.path.endsWith('/openapi.json')) return;
      const parameters = [{ in: 'query', name: 'from', schema: { enum: ['engine', 'none'] } }];
      exchange.edit((body) => {
        for (const path of Object.keys(body.paths)) body.paths[path].get = { parameters };
      });
    },
    exits: [0, 3],
  },

  edited('sends every item of a page twice', isResponses, (body) => ({ ...body, data: [...body.data, ...body.data] }), {
    exits: [0, 3],
    says: /key implausible_value allowed: each key once in a page/,
  }),
  {
    title: 'sends unknown numbers that a double cannot hold',
    tell: (exchange) => {
      if (!isPrompts(exchange)) return;
      exchange.body = Buffer.from(
        exchange.body.toString().replaceAll('"text":', '"serial":12345678901234567890,"text":'),
      );
    },
    exits: [0],
    check: async ({ data }) => {
      const reader = await openReader(join(data, 'analytics.duckdb'));
      try {
        const { rows } = await reader.query(
          "SELECT DISTINCT CAST(_extra->'serial' AS VARCHAR) FROM main.prompts WHERE _deleted_at IS NULL",
        );
        expect(rows).toEqual([['12345678901234567890']]);
      } finally {
        reader.close();
      }
    },
  },
  edited(
    'sends counts of 300 digits',
    ({ path }) => path.endsWith('/articles'),
    (body) => ({ ...body, data: body.data.map((item: object) => ({ ...item, wordCount: 1e299 })) }),
    { exits: [0, 3], says: /wordCount/ },
  ),
  {
    title: 'names fields __proto__, constructor and toString',
    tell: (exchange) => {
      if (!isPrompts(exchange)) return;
      const fields = '"__proto__":{"active":true},"constructor":{"prototype":{"x":1}},"toString":"x",';
      exchange.body = Buffer.from(exchange.body.toString().replaceAll('"text":', `${fields}"text":`));
    },
    exits: [0],
    says: /__proto__ unknown_field/,
  },
  alertsAre('sends null', () => 'null', /the body has no list data/),
  alertsAre(
    'sends an error with status 200',
    () => '{"error":{"code":"oops","message":"x"}}',
    /the body has no list data/,
  ),

  alertsAre(
    'sends a cursor of 1 MB',
    () => `{"data":[],"nextCursor":"${'c'.repeat(MEGABYTE)}"}`,
    /nextCursor has 1000000 characters/,
  ),
  {
    title: 'sends the same page with a new cursor again and again',
    tell: (exchange) => {
      if (!isResponses(exchange)) return;
      exchange.status = 200;
      exchange.body = Buffer.from(JSON.stringify({ data: [RESPONSE], nextCursor: `c${exchange.count}` }));
    },
    exits: [3],
    says: /the same page again/,
  },
  edited(
    'sends a cursor with lists that are not paged',
    ({ path }) => path.endsWith('/prompts') || path.endsWith('/brands'),
    (body) => (Array.isArray(body) ? body : { ...body, nextCursor: 'more' }),
    { exits: [0] },
  ),
];

const BOMB = gzipSync(Buffer.alloc(100 * MEGABYTE, ' '));
const RESPONSE = {
  id: '00000000-0000-4000-8000-000000000001',
  promptId: '00000000-0000-4000-8000-000000000002',
  prompt: 'x',
  engine: 'x',
  createdAt: new Date().toISOString(),
  brandMentioned: false,
};
