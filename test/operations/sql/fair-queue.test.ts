import { expect, test } from 'vitest';
import { createFairQueue } from '../../../src/operations/sql/fair-queue.ts';

const never = new AbortController().signal;

/** Waits until the tasks that can start have started. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function blocked(): { done: Promise<void>; release: () => void } {
  let release = (): void => undefined;
  const done = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { done, release };
}

test('sessions take turns, one task at a time', async () => {
  const queue = createFairQueue({ waitingMax: 10, waitingPerSessionMax: 5 });
  const order: string[] = [];
  let running = 0;
  const task = (session: string, name: string) =>
    queue.run(session, never, async () => {
      running += 1;
      expect(running).toBe(1);
      order.push(name);
      await settle();
      running -= 1;
      return name;
    });
  const all = [task('a', 'a1'), task('a', 'a2'), task('a', 'a3'), task('b', 'b1'), task('c', 'c1'), task('b', 'b2')];
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
  expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  expect(queue.waiting()).toBe(0);
});

test('a full queue and a full part of a session reject, and a failed task does not stop the next', async () => {
  const queue = createFairQueue({ waitingMax: 3, waitingPerSessionMax: 2 });
  const first = blocked();
  const running = queue.run('a', never, () => first.done.then(() => Promise.reject(new Error('broken'))));
  const waiting = [queue.run('a', never, async () => 1), queue.run('a', never, async () => 2)];
  await expect(queue.run('a', never, async () => 3)).rejects.toMatchObject({ code: 'overloaded' });
  waiting.push(queue.run('b', never, async () => 4));
  await expect(queue.run('c', never, async () => 5)).rejects.toMatchObject({ code: 'overloaded' });
  first.release();
  await expect(running).rejects.toThrow('broken');
  expect(await Promise.all(waiting)).toEqual([1, 2, 4]);
});

test('an aborted task that waits is not run', async () => {
  const queue = createFairQueue({ waitingMax: 3, waitingPerSessionMax: 3 });
  const first = blocked();
  const running = queue.run('a', never, () => first.done);
  const stop = new AbortController();
  let runs = 0;
  const waiting = queue.run('b', stop.signal, async () => {
    runs += 1;
  });
  stop.abort(new Error('left'));
  await expect(waiting).rejects.toThrow('left');
  expect(queue.waiting()).toBe(0);
  first.release();
  await running;
  await expect(queue.run('b', stop.signal, async () => 1)).rejects.toThrow('left');
  expect(runs).toBe(0);
});
