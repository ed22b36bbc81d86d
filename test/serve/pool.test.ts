import { expect, it, vi } from 'vitest';
import { createPool } from '../../src/serve/pool.ts';

it('a pool closes the members that were used least recently, each after its last use', async () => {
  const events: string[] = [];
  const pool = createPool<string>({
    openMax: 2,
    open: async (name) => {
      events.push(`open ${name}`);
      return name;
    },
    close: async (name) => void events.push(`close ${name}`),
  });
  let finish: () => void = () => undefined;
  const busy = pool.use('a', () => new Promise<void>((resolve) => (finish = resolve)));
  for (const name of ['b', 'c', 'b', 'd']) await pool.use(name, async () => undefined);
  expect(events).toEqual(['open a', 'open b', 'open c', 'open d', 'close c']);
  expect(pool.names()).toEqual(['b', 'd']);
  finish();
  await busy;
  await pool.close();
  expect(events.slice(5).sort()).toEqual(['close a', 'close b', 'close d']);
});

it('a pool replaces a member with another version, and tries again to open one that failed', async () => {
  const state = { version: '1', isBroken: true };
  const closed: string[] = [];
  const pool = createPool<string>({
    openMax: 2,
    open: async () => {
      if (state.isBroken) throw new Error('broken');
      return state.version;
    },
    close: async (member) => void closed.push(member),
    version: () => state.version,
  });
  await expect(pool.enter('a')).rejects.toThrow('broken');
  state.isBroken = false;
  const [first, second] = [await pool.enter('a'), await pool.enter('a')];
  state.version = '2';
  expect(await pool.use('a', async (member) => member)).toBe('2');
  first.leave();
  first.leave();
  expect(closed).toEqual([]);
  second.leave();
  await vi.waitFor(() => expect(closed).toEqual(['1']));
  await pool.close();
  expect(closed.sort()).toEqual(['1', '2']);
});

it('a closed pool has closed the members in use, also if one of them cannot be closed', async () => {
  const closed: string[] = [];
  const pool = createPool<string>({
    openMax: 1,
    open: async (name) => name,
    close: async (name) => {
      if (name === 'a') throw new Error('cannot be closed');
      closed.push(name);
    },
  });
  const [a, b] = [await pool.enter('a'), await pool.enter('b')];
  expect(pool.present()).toEqual(['a', 'b']);
  let isClosed = false;
  const closing = pool.close().then(() => (isClosed = true));
  a.leave();
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  b.leave();
  await closing;
  expect(closed).toEqual(['b']);
});
