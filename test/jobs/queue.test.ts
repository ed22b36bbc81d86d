import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { openQueueRunner } from '../../src/jobs/queue/queue-runner.ts';
import { readTask } from '../../src/jobs/queue/queue-task.ts';
import type { Task } from '../../src/jobs/runner.ts';
import { ownPostgresFor } from '../support/test-postgres.ts';
import { newQueue, queueIn, runSql } from './queues.ts';
import { openAt, said, settled, startWork, tasksOf, yearly } from './runners.ts';

beforeEach(() => void said.splice(0));

test('the queue performs a due run once, schedules the next one, and repairs a schedule that has lost it', async (context) => {
  const address = await newQueue(context);
  const runner = await openAt(address)();
  const planned = [{ workspace: 'w0', job: yearly('rare') }];
  await runner.keepSchedules(planned);
  const due = (await runner.state()).nextDue ?? '';
  // Makes the yearly run due now.
  await runSql(
    address,
    "UPDATE sightline_queue.job SET start_after = now() WHERE state = 'created' AND name = 'tasks'",
  );
  const begun: Task[] = [];
  startWork(runner, async (task) => {
    begun.push(task);
    return task.attempt === 1 ? { kind: 'put back', afterMs: 0 } : settled;
  });
  await expect.poll(async () => (await runner.state()).ended.length, { timeout: 200_000 }).toBe(1);
  const id = expect.stringMatching(/./);
  const task = { id, workspace: 'w0', job: 'rare', dueMs: Date.parse(due) };
  expect(begun).toEqual([
    { ...task, attempt: 1 },
    { ...task, attempt: 2 },
  ]);
  expect(new Set(begun.map((one) => one.id)).size).toBe(1);
  const state = await runner.state();
  expect([state.schedules, state.counts.delayed, state.nextDue]).toEqual([1, 1, due]);
  expect(await runner.keepSchedules(planned)).toEqual({ added: 0, removed: 0 });
  await runSql(address, "DELETE FROM sightline_queue.job WHERE state = 'created'");
  expect(await runner.keepSchedules(planned)).toEqual({ added: 1, removed: 0 });
  expect((await runner.state()).nextDue).toBe(due);
});

test('a schedule that is removed while its task runs does not come back with a later attempt', async (context) => {
  const address = await newQueue(context);
  const runner = await openAt(address)();
  await runner.keepSchedules([{ workspace: 'w0', job: yearly('rare') }]);
  await runSql(address, "UPDATE sightline_queue.job SET start_after = now() WHERE name = 'tasks'");
  startWork(runner, async ({ attempt }) => {
    if (attempt > 1) return settled;
    expect(await runner.keepSchedules([])).toEqual({ added: 0, removed: 1 });
    return { kind: 'put back', afterMs: 0 };
  });
  await expect.poll(async () => (await runner.state()).ended.length, { timeout: 200_000 }).toBe(1);
  expect(await runner.state()).toMatchObject({ schedules: 0, counts: { failed: 0 } });
});

test('the queue continues without losing or repeating a task after its server was away', async (context) => {
  const server = await ownPostgresFor(context);
  const heard: string[] = [];
  const address = queueIn(server);
  const runner = await openQueueRunner(address, { say: (text) => void heard.push(text) });
  onTestFinished(() => runner.close());
  await runner.enqueue(tasksOf(20));
  const done = new Map<string, number>();
  startWork(runner, async ({ workspace, attempt }) => {
    await delay(100);
    if (attempt === 1 && workspace.endsWith('3')) return { kind: 'put back', afterMs: 100 };
    done.set(workspace, (done.get(workspace) ?? 0) + 1);
    // While these tasks are active, the server goes away.
    if (done.size === 5) await server.stop();
    return settled;
  });
  await expect.poll(() => heard.join('\n'), { timeout: 200_000 }).toContain('running tasks continue');
  await expect(runner.state()).rejects.toMatchObject({ code: 'queue_unreachable' });
  const refused = await openQueueRunner(address, { isPatient: false }).then(
    () => null,
    (thrown: Error) => thrown,
  );
  expect(refused).toMatchObject({
    code: 'queue_unreachable',
    message: expect.stringContaining('QUEUE_DATABASE_URL'),
  });
  const patient = openQueueRunner(address, { say: (text) => void heard.push(text) });
  await expect.poll(() => heard.join('\n'), { timeout: 200_000 }).toContain('retrying until it answers');
  await server.start();
  await (await patient).close();
  await expect.poll(() => done.size, { timeout: 200_000 }).toBe(20);
  await expect.poll(() => runner.outstanding(60_000), { timeout: 200_000 }).toBe(0);
  expect((await runner.state()).counts.failed).toBe(0);
  expect([...done.values()].filter((times) => times > 1)).toEqual([]);
  await expect.poll(() => heard.join('\n'), { timeout: 200_000 }).toContain("The queue's database answers again.");
  expect(`${heard.join()}${refused?.stack}`).not.toMatch(/p@ss|p%40ss/);
});

test('closing the queue stops active tasks and puts them back', async (context) => {
  const address = await newQueue(context);
  const heard: string[] = [];
  const runner = await openQueueRunner(address, { say: (text) => void heard.push(text) });
  await runner.enqueue(tasksOf(1));
  const begun: Task[] = [];
  const work = startWork(runner, async (task, { signal }) => {
    begun.push(task);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    return { kind: 'put back', afterMs: 0 };
  });
  await expect.poll(() => begun.length, { timeout: 200_000 }).toBe(1);
  await runner.close();
  await work.stop();
  expect((await (await openAt(address)()).state()).counts).toMatchObject({ waiting: 1, active: 0 });
  expect(heard).toEqual([]);
});

test('workers that write the same schedules or tasks at the same time do not disturb each other', async (context) => {
  const open = openAt(await newQueue(context));
  const planned = Array.from({ length: 20 }, (_, index) => ({ workspace: `w${index}`, job: yearly('rare') }));
  const runners = await Promise.all([open(), open(), open(), open()]);
  const kept = await Promise.all(runners.map((runner) => runner.keepSchedules(planned)));
  const enqueued = await Promise.all(runners.map((runner) => runner.enqueue(tasksOf(20))));
  const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);
  expect([sum(kept.map(({ added }) => added)), sum(enqueued)]).toEqual([20, 20]);
  expect((await runners[0]?.state())?.schedules).toBe(20);
  expect(await runners[1]?.outstanding(400 * 86_400_000)).toBe(40);
});

test('workers that record a data folder at the same time agree on one until it is replaced', async (context) => {
  const open = openAt(await newQueue(context));
  const runners = await Promise.all([open(), open(), open(), open()]);
  expect(await runners[0]?.recordedFolder()).toBeNull();
  const recorded = await Promise.all(runners.map((runner, index) => runner.recordFolder(`folder ${index}`, false)));
  expect(new Set(recorded).size).toBe(1);
  expect(await runners[0]?.recordFolder('moved', true)).toBe('moved');
  expect(await runners[1]?.recordFolder('folder 1', false)).toBe('moved');
  expect(await runners[2]?.recordedFolder()).toBe('moved');
});

test('a role that may only use existing tables of the queue works, and one that may not create them is told', async (context) => {
  const address = await newQueue(context);
  const role = `limited_${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
  await runSql(address, `CREATE ROLE ${role} LOGIN PASSWORD 'p@ss:of/tests'`);
  onTestFinished(async () => void (await runSql(address, `DROP OWNED BY ${role}; DROP ROLE ${role}`)));
  const limited = { ...address, url: Object.assign(new URL(address.url), { username: role }).href };
  await expect(openQueueRunner(limited)).rejects.toMatchObject({
    code: 'queue_unreachable',
    message: expect.stringContaining('refuses (permission denied'),
  });
  await openAt(address)();
  await runSql(
    address,
    `GRANT USAGE ON SCHEMA sightline_queue TO ${role};
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sightline_queue TO ${role}`,
  );
  const runner = await openAt(limited)();
  await runner.enqueue(tasksOf(1));
  startWork(runner, async () => settled);
  await expect.poll(async () => (await runner.state()).ended.length, { timeout: 200_000 }).toBe(1);
});

test('a wrong password is rejected and not shown', async (context) => {
  const address = await newQueue(context);
  const url = Object.assign(new URL(address.url), { password: 'wrong-one' }).href;
  const failure = await openQueueRunner({ ...address, url }).catch((thrown: Error) => thrown);
  const message = expect.stringMatching(/^the queue database of QUEUE_DATABASE_URL refuses \(.*pass/i);
  expect(failure).toMatchObject({ code: 'queue_unreachable', message });
  expect(String((failure as Error).stack)).not.toContain('wrong-one');
});

test.each([
  null,
  'text',
  { job: 'nightly' },
  { workspace: 5, job: 'nightly' },
  { workspace: '../../etc', job: 'nightly' },
  { workspace: 'x'.repeat(65), job: 'nightly' },
  { workspace: 'w0', job: '\u001b[2Jnightly' },
  { workspace: 'w0', job: '__proto__' },
  { workspace: 'w0', job: 'nightly', schedule: { dueAt: 'soon', cron: '* * * * *', timeZone: 'UTC' } },
])('a task with the data %j is invalid', (data) => {
  expect(readTask(data)).toBeNull();
});

test('forged tasks and records do not stop workers, and are not shown', async (context) => {
  const address = await newQueue(context);
  const runner = await openAt(address)();
  const forge = (queue: string, data: unknown) =>
    runSql(
      address,
      `INSERT INTO sightline_queue.job (name, data) VALUES ('${queue}', '${JSON.stringify(data)}'::jsonb)`,
    );
  await forge('tasks', { workspace: 5, job: 'nightly' });
  await forge('tasks', { workspace: '../w0', job: 'nightly' });
  await forge('tasks', 'text');
  await forge('tasks', { workspace: 'w0', job: '\u001b[31mnightly' });
  await forge('records', null);
  await forge('records', { name: '\u001b[2J', host: 'h', pid: 1, concurrency: 1, tasks: [] });
  expect(await runner.state()).toMatchObject({ counts: { waiting: 4 }, workers: [], leases: [] });
  await runner.enqueue([{ workspace: 'w0', job: 'nightly' }]);
  // A schedule that cannot be computed has no next run.
  const schedule = { dueAt: '2026-01-01T00:00:00Z', cron: 'x', timeZone: 'Nowhere' };
  await forge('tasks', { workspace: 'w1', job: 'nightly', schedule });
  const begun: string[] = [];
  startWork(runner, async ({ workspace, job }) => {
    begun.push(`${workspace} ${job}`);
    return settled;
  });
  await expect.poll(() => runner.outstanding(0), { timeout: 200_000 }).toBe(0);
  expect(begun.sort()).toEqual(['w0 nightly', 'w1 nightly']);
  const rejections = said.filter((sentence) => sentence.includes(' of the queue is invalid: its data are '));
  expect(rejections).toHaveLength(4);
  expect(rejections.join()).not.toContain('\u001b');
  const { ended, counts } = await runner.state();
  expect(counts.failed).toBe(4);
  expect(ended.map(({ workspace, status }) => `${workspace} ${status}`).sort()).toEqual(['w0 done', 'w1 done']);
});
