import { expect, test } from 'vitest';
import { createRowCache } from '../../src/read/row-cache.ts';
import type { Query } from '../../src/warehouse/database.ts';

// Answers with the number of statements that have run, as a list of `length` rows.
function counting(length = 1): { readonly query: Query; count: number } {
  const counted = {
    count: 0,
    query: async (): Promise<unknown[][]> => {
      counted.count += 1;
      return Array.from({ length }, () => [counted.count]);
    },
  };
  return counted;
}

test('a statement runs once for each text and parameters, also for later queries', async () => {
  const [kept, first, later] = [createRowCache(), counting(), counting()];
  const query = kept.through(first.query);
  expect(await query('SELECT $1', ['a'])).toEqual([[1]]);
  expect(await query('SELECT $1', ['a'])).toEqual([[1]]);
  expect(await query('SELECT $1', ['b'])).toEqual([[2]]);
  expect(await query('SELECT 1')).toEqual([[3]]);
  expect(await kept.through(later.query)('SELECT $1', ['a'])).toEqual([[1]]);
  expect([first.count, later.count]).toEqual([3, 0]);
});

test('a failure is not kept', async () => {
  const [kept, counted] = [createRowCache(), counting()];
  const failing = kept.through(() => Promise.reject(new Error('interrupted')));
  await expect(failing('SELECT 1')).rejects.toThrow('interrupted');
  expect(await kept.through(counted.query)('SELECT 1')).toEqual([[1]]);
});

test('large results are not kept', async () => {
  const [kept, counted] = [createRowCache(), counting(2_001)];
  const query = kept.through(counted.query);
  await query('SELECT 1');
  expect((await query('SELECT 1'))[0]).toEqual([2]);
});

test('beyond 200 results, the least recently used is dropped', async () => {
  const [kept, counted] = [createRowCache(), counting()];
  const query = kept.through(counted.query);
  for (let index = 0; index < 200; index++) await query('SELECT $1', [index]);
  await query('SELECT $1', [0]);
  await query('SELECT $1', [200]);
  const before = counted.count;
  await query('SELECT $1', [0]);
  expect(counted.count).toBe(before);
  await query('SELECT $1', [1]);
  expect(counted.count).toBe(before + 1);
});
