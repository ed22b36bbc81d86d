import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRemembered } from '../../../src/read/create-service.ts';
import { groupOf } from '../../../src/serve/auth/authentication.ts';
import { type Content, createContentCache, toBody, toBytes } from '../../../src/serve/http/content/content-cache.ts';
import { createSingleFlight } from '../../../src/serve/http/single-flight.ts';

function content(bytes: number): Content {
  return { body: toBody(Buffer.alloc(bytes, 'x')), mediaType: 'application/json', encoding: null, nextCursor: null };
}

describe('the response cache', () => {
  it('never exceeds its size, and keeps the most recently used', () => {
    const operations = fc.array(fc.tuple(fc.boolean(), fc.nat(30), fc.nat(3_000)), { maxLength: 200 });
    fc.assert(
      fc.property(operations, (steps) => {
        const cache = createContentCache(20_000);
        for (const [isRead, key, bytes] of steps) {
          if (isRead) cache.get(`${key}`);
          else {
            cache.set(`${key}`, content(bytes));
            expect(cache.get(`${key}`) === undefined).toBe(bytes + 512 > 2_500);
          }
          expect(cache.bytes).toBeLessThanOrEqual(20_000);
        }
      }),
    );
  });

  it('drops the least recently used', () => {
    const cache = createContentCache(8 * 1_512);
    for (let key = 0; key < 8; key++) cache.set(`${key}`, content(1_000));
    cache.get('0');
    cache.set('new', content(1_000));
    expect(cache.get('0')).toBeDefined();
    expect(cache.get('1')).toBeUndefined();
    expect(cache.bytes).toBe(8 * 1_512);
  });

  it('preserves every byte, as string and as buffer', () => {
    for (const length of [0, 1, 256, 16_384, 16_385, 100_000]) {
      const bytes = Buffer.from(Array.from({ length }, (_none, index) => index % 256));
      expect(toBody(bytes)).toHaveLength(length);
      expect(toBytes(toBody(bytes)).equals(bytes)).toBe(true);
    }
  });
});

describe('single-flight', () => {
  it('rejects all waiting clients on failure, and starts anew for the next', async () => {
    const singleFlight = createSingleFlight<number>(5);
    const { signal } = new AbortController();
    let started = 0;
    const fail = (): Promise<number> => {
      started += 1;
      return Promise.reject(new Error(`try ${started}`));
    };
    const both = await Promise.allSettled([singleFlight.join('a', signal, fail), singleFlight.join('a', signal, fail)]);
    expect(both.map((one) => one.status === 'rejected' && String(one.reason))).toEqual([
      'Error: try 1',
      'Error: try 1',
    ]);
    expect({ running: singleFlight.running, waiting: singleFlight.waiting }).toEqual({ running: 0, waiting: 0 });
    await expect(singleFlight.join('a', signal, fail)).rejects.toThrow('try 2');
  });

  it('does not start work for an aborted client', async () => {
    const singleFlight = createSingleFlight<number>(5);
    const start = (): Promise<number> => Promise.reject(new Error('it was started'));
    await expect(singleFlight.join('a', AbortSignal.abort(new Error('left')), start)).rejects.toThrow('left');
    expect(singleFlight.running).toBe(0);
  });
});

it('the cache of validated requests is valid for one scope and one day', () => {
  const remembered = createRemembered<number>();
  const [first, second] = [{}, {}];
  let made = 0;
  const make = (): number => ++made;
  expect(remembered(first, '2026-01-01', 'a', make)).toBe(1);
  expect(remembered(first, '2026-01-01', 'a', make)).toBe(1);
  expect(remembered(first, '2026-01-01', 'b', make)).toBe(2);
  expect(remembered(second, '2026-01-01', 'a', make)).toBe(3);
  expect(remembered(second, '2026-01-02', 'a', make)).toBe(4);
  expect(remembered(first, '2026-01-01', 'a', make)).toBe(5);
  const tooLong = 'x'.repeat(3_000);
  expect(remembered(first, '2026-01-01', tooLong, make)).toBe(6);
  expect(remembered(first, '2026-01-01', tooLong, make)).toBe(7);
  for (let index = 0; index < 1_000; index++) remembered(first, '2026-01-01', `${index}`, make);
  expect(remembered(first, '2026-01-01', 'a', make)).toBe(1_008);
});

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  ['', ''],
])('wrong keys from %s are counted for %s', (address, group) => {
  expect(groupOf(address)).toBe(group);
});
