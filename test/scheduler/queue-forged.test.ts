import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openQueue } from '../../src/scheduler/queue/queue-connection.ts';
import { openQueueRunner } from '../../src/scheduler/queue/queue-runner.ts';
import { type TaskJob, toTask } from '../../src/scheduler/queue/queue-task.ts';
import { newQueue, startQueues, stopQueues } from './queues.ts';

beforeAll(startQueues, 60_000);
afterAll(stopQueues);

const NOW = Date.parse('2026-11-22T08:00:00Z');
const valid = {
  id: 'repeat:a:1',
  data: { workspace: 'w0', job: 'nightly' },
  attemptsStarted: 2,
  repeatJobKey: 'a',
  opts: { prevMillis: NOW },
};
const read = (changes: object) => toTask({ ...valid, ...changes } as unknown as TaskJob, NOW);

test('a task of the queue is read with its workspace, job, due time and attempt', () => {
  expect(read({})).toEqual({ id: 'repeat:a:1', workspace: 'w0', job: 'nightly', dueMs: NOW, attempt: 2 });
  expect(read({ repeatJobKey: undefined })).toMatchObject({ dueMs: null });
  for (const attemptsStarted of [-3, Number.NaN, 1e300, 'x']) expect(read({ attemptsStarted }).attempt).toBe(1);
});

test.each([
  [{ data: null }, 'data is null; allowed: an object with workspace and job'],
  [{ data: 'text' }, 'data is "text"; allowed: an object'],
  [{ data: { job: 'nightly' } }, 'workspace is not set; allowed: lower-case letters'],
  [{ data: { workspace: '../../etc', job: 'nightly' } }, 'workspace is "../../etc"; allowed: lower-case letters'],
  [{ data: { workspace: { w: 1 }, job: 'nightly' } }, 'workspace is {"w":1}; allowed: lower-case letters'],
  [{ data: { workspace: 'x'.repeat(1_000_000), job: 'nightly' } }, `workspace is "${'x'.repeat(79)}…; allowed`],
  [{ data: { workspace: 'w0', job: '\u001b[2Jnightly' } }, 'job is "\\u001b[2Jnightly"; allowed: lower-case letters'],
  [{ data: { workspace: 'w0', job: '__proto__' } }, 'job is "__proto__"; allowed: lower-case letters'],
  [{ opts: { prevMillis: 3e13 } }, 'the time at which it was due is 30000000000000; allowed: epoch'],
  [{ opts: { prevMillis: -1 } }, 'the time at which it was due is -1; allowed: epoch'],
  [{ opts: { prevMillis: 9e15 } }, 'the time at which it was due is 9000000000000000; allowed: epoch'],
  [{ opts: { prevMillis: 'soon' } }, 'the time at which it was due is "soon"; allowed: epoch'],
])('a task changed to %j is rejected with the name of the field', (changes, message) => {
  expect(() => read(changes)).toThrow(`task "repeat:a:1" of the queue is invalid: ${message}`);
});

test.for(['postgres', 'redis'] as const)(
  'forged tasks and records in %s do not stop workers, and are not shown',
  async (kind, context) => {
    const address = await newQueue(kind, context);
    const said: string[] = [];
    const say = (sentence: string): void => void said.push(sentence);
    const connection = await openQueue(address, { clock: systemClock, isPatient: false, say });
    onTestFinished(() => connection.close());
    const forge = (name: string, data: unknown) => connection.queue.add(name, data as never, { jobId: name });
    await forge('number', { workspace: 5, job: 'nightly' });
    await forge('path', { workspace: '../w0', job: 'nightly' });
    await forge('text', 'text');
    await forge('escape', { workspace: 'w0', job: '\u001b[31mnightly' });
    await connection.queue.getBackend().setQueueMeta({
      'sightline:sweep': 'damaged',
      'worker:a/1': 'no JSON',
      'worker:b/2': '{"name":"b"}',
      'worker:c/3': JSON.stringify({ name: '\u001b[2J', host: 'h', pid: 1, since: 'x', seen: 'y', concurrency: 1 }),
    });
    const runner = await openQueueRunner(address, { leaseMs: 2_000, say });
    onTestFinished(() => runner.close());
    expect(await runner.state()).toMatchObject({ counts: { waiting: 4 }, workers: [], leases: [] });
    await runner.enqueue([{ workspace: 'w0', job: 'nightly' }]);
    const begun: string[] = [];
    const stop = new AbortController();
    const working = runner.work({
      name: 'tester',
      concurrency: 2,
      signal: stop.signal,
      perform: async ({ workspace, job }) => {
        begun.push(`${workspace} ${job}`);
        return { kind: 'settled', status: 'done' };
      },
    });
    await expect.poll(() => runner.outstanding(0), { timeout: 200_000 }).toBe(0);
    stop.abort(new Error('stopped'));
    await working;
    expect(begun).toEqual(['w0 nightly']);
    const rejections = said.filter((sentence) => sentence.startsWith('task "'));
    expect(rejections.map((sentence) => sentence.split('"')[1]).sort()).toEqual(['escape', 'number', 'path', 'text']);
    const { ended, counts } = await runner.state();
    expect(counts.failed).toBe(4);
    expect(ended).toEqual([expect.objectContaining({ workspace: 'w0', job: 'nightly', status: 'done' })]);
  },
);

test('a damaged record of the last takeover in PostgreSQL delays the next one by one lease', async (context) => {
  const connection = await openQueue(await newQueue('postgres', context), {
    clock: systemClock,
    isPatient: false,
    say: () => undefined,
  });
  onTestFinished(() => connection.close());
  const { queue, database } = connection;
  const times = '999999999999999';
  for (const value of ['damaged', '', '1/', '-1/-1', `${times}/${times}`, `0/${times}`]) {
    await queue.getBackend().setQueueMeta({ 'sightline:sweep': value });
    expect(await database.mayReclaim(600), value).toBe(false);
    await expect.poll(() => database.mayReclaim(600), { timeout: 200_000, message: value }).toBe(true);
  }
});
