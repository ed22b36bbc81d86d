import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { NOW_MS } from '../../support/clocks.ts';
import type { Lie } from '../attack.ts';
import { at, edit, editEach, encode, isAlerts, isPrompts, isResponses, reply, rewrite } from './tell.ts';

const MEGABYTE = 1_000_000;
const BOMB = gzipSync(Buffer.alloc(100 * MEGABYTE, ' '));
const RESPONSE = {
  id: '00000000-0000-4000-8000-000000000001',
  promptId: '00000000-0000-4000-8000-000000000002',
  prompt: 'x',
  engine: 'x',
  createdAt: new Date(NOW_MS).toISOString(),
  brandMentioned: false,
};

/** Bodies that are long, deep, encoded, damaged or of another form. */
export const bodyLies: readonly Lie[] = [
  {
    title: 'sends 100 MB of spaces in 100 kB of gzip',
    on: isAlerts,
    tell: encode('gzip', () => BOMB),
    ends: ['partial'],
    says: /is too long when decoded; allowed: up to \d+ bytes/,
  },
  {
    title: 'sends bytes that are not UTF-8 in one prompt',
    on: isPrompts,
    tell: rewrite((text) => {
      const start = text.indexOf('"text":"') + '"text":"'.length;
      return Buffer.concat([
        Buffer.from(text.slice(0, start)),
        Buffer.from([0xff, 0xfe]),
        Buffer.from(text.slice(start)),
      ]);
    }),
    ends: ['complete', 'partial'],
    says: /the item is not UTF-8/,
  },
  {
    title: 'sends 400000 empty objects instead of the requested 100 items',
    on: isAlerts,
    tell: rewrite(() => `{"data":[${'{},'.repeat(400_000)}{}],"nextCursor":null}`),
    ends: ['partial'],
    says: /the list has 400001 items; allowed: up to 400/,
  },
  {
    title: 'sends 50000 items that are not rows in a list without a limit',
    on: at('/competitors'),
    tell: edit((body) => ({ data: [...(Array.isArray(body) ? body : body.data), ...Array(50_000).fill([])] })),
    ends: ['complete', 'partial'],
    says: /50000 items quarantined/,
  },
  {
    title: 'sends a text of 20 MB in one prompt',
    on: isPrompts,
    tell: edit((body) => {
      if (body.data.length > 0) body.data[0].text = 'x'.repeat(20 * MEGABYTE);
    }),
    ends: ['complete', 'partial'],
    says: /characters of JSON; allowed: up to 4000000/,
  },
  {
    title: 'sends unknown numbers that a double cannot hold',
    on: isPrompts,
    tell: rewrite((text) => text.replaceAll('"text":', '"serial":12345678901234567890,"text":')),
    ends: ['complete'],
    check: async ({ query }) => {
      const serials =
        "SELECT DISTINCT CAST(_extra->'serial' AS VARCHAR) AS serial FROM prompts WHERE _deleted_at IS NULL";
      expect(await query(serials)).toEqual([{ serial: '12345678901234567890' }]);
    },
  },
  {
    title: 'sends counts of 300 digits',
    on: at('/articles'),
    tell: editEach((item) => Object.assign(item, { wordCount: 1e299 })),
    ends: ['complete', 'partial'],
    says: /wordCount/,
  },
  {
    title: 'names fields __proto__, constructor and toString',
    on: isPrompts,
    tell: rewrite((text) => {
      const fields = '"__proto__":{"active":true},"constructor":{"prototype":{"x":1}},"toString":"x",';
      return text.replaceAll('"text":', `${fields}"text":`);
    }),
    ends: ['complete'],
    says: /__proto__ unknown_field/,
  },
  {
    title: 'sends an error with status 200',
    on: isAlerts,
    tell: reply(200, '{"error":{"code":"oops","message":"x"}}'),
    ends: ['partial'],
    says: /the body has no list data/,
  },
  {
    title: 'sends a cursor of 1 MB',
    on: isAlerts,
    tell: reply(200, `{"data":[],"nextCursor":"${'c'.repeat(MEGABYTE)}"}`),
    ends: ['partial'],
    says: /nextCursor has 1000000 characters/,
  },
  {
    title: 'sends the same page with a new cursor again and again',
    on: isResponses,
    tell: (exchange) => {
      exchange.status = 200;
      exchange.body = Buffer.from(JSON.stringify({ data: [RESPONSE], nextCursor: `c${exchange.count}` }));
    },
    ends: ['partial'],
    says: /the same page again/,
  },
  {
    title: 'sends a cursor with lists that are not paged',
    on: ({ path }) => path.endsWith('/prompts') || path.endsWith('/brands'),
    tell: edit((body) => (Array.isArray(body) ? body : { ...body, nextCursor: 'more' })),
    ends: ['complete'],
  },
];
