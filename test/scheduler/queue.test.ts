import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openQueueRunner } from '../../src/scheduler/queue/queue-runner.ts';
import type { Task } from '../../src/scheduler/runner.ts';
import { ownPostgresFor } from '../support/test-postgres.ts';
import { newQueue, queueIn, runSql, startQueues, stopQueues } from './queues.ts';
import { LEASE_MS, openAt, said, say, settled, startWork, tasksOf, yearly } from './runners.ts';

beforeAll(startQueues, 60_000);
afterAll(stopQueues);

describe('a queue in PostgreSQL', () => {
  test('performs a due run, schedules the next one, and repairs a schedule that has lost its next run', async (context) => {
    const address = await newQueue('postgres', context);
    const runner = await openAt(address)();
    const planned = [{ workspace: 'w0', job: yearly('rare') }];
    await runner.keepSchedules(planned);
    const due = (await runner.state()).nextDue ?? '';
    // Makes the yearly run due now.
    await runSql(address, "UPDATE bullmq.job SET process_at_ms = 1 WHERE state = 'delayed'");
    const begun: Task[] = [];
    startWork(runner, async (task) => {
      begun.push(task);
      return settled;
    });
    await expect.poll(() => begun.length, { timeout: 200_000 }).toBe(1);
    const id = expect.stringMatching(/./);
    expect(begun).toEqual([{ id, workspace: 'w0', job: 'rare', dueMs: Date.parse(due), attempt: 1 }]);
    await expect
      .poll(async () => (await runner.state()).nextDue)
      .toBe(due.replace(/^\d+/, (year) => `${Number(year) + 1}`));
    expect(await runner.keepSchedules(planned)).toEqual({ added: 0, removed: 0 });
    await runSql(address, 'DELETE FROM bullmq.job; UPDATE bullmq.scheduler SET next_run_ms = 1');
    expect(await runner.keepSchedules(planned)).toEqual({ added: 1, removed: 0 });
    expect((await runner.state()).nextDue).toBe(due);
    // A next run in a thousand years is invalid.
    await runSql(address, 'DELETE FROM bullmq.job; UPDATE bullmq.scheduler SET next_run_ms = 33000000000000');
    expect(await runner.keepSchedules(planned)).toEqual({ added: 1, removed: 0 });
    expect((await runner.state()).nextDue).toBe(due);
  });

  test('continues without losing a task after the server was away', async (context) => {
    const server = await ownPostgresFor(context);
    const heard: string[] = [];
    const address = queueIn(server);
    const runner = await openQueueRunner(address, { leaseMs: LEASE_MS, say: (text) => void heard.push(text) });
    onTestFinished(() => runner.close());
    await runner.enqueue(tasksOf(20));
    const done = new Map<string, number>();
    startWork(runner, async ({ workspace, attempt }) => {
      await delay(100);
      if (attempt === 1 && workspace.endsWith('3')) return { kind: 'put back', afterMs: 100 };
      done.set(workspace, (done.get(workspace) ?? 0) + 1);
      return settled;
    });
    await expect.poll(() => done.size).toBeGreaterThan(4);
    await server.stop();
    await expect(runner.state()).rejects.toMatchObject({ code: 'queue_unreachable' });
    await delay(LEASE_MS);
    const refused = await openQueueRunner(address, { isPatient: false }).then(
      () => null,
      (thrown: Error) => thrown,
    );
    expect(refused).toMatchObject({
      code: 'queue_unreachable',
      message: expect.stringContaining('QUEUE_DATABASE_URL'),
    });
    await server.start();
    await expect.poll(() => done.size, { timeout: 200_000 }).toBe(20);
    await expect.poll(() => runner.outstanding(60_000), { timeout: 200_000 }).toBe(0);
    expect((await runner.state()).counts.failed).toBe(0);
    // Active tasks stayed with their worker.
    expect([...done.values()].filter((times) => times > 1)).toEqual([]);
    await expect.poll(() => heard.join('\n'), { timeout: 200_000 }).toContain("The queue's database answers again.");
    expect(`${heard.join()}${refused?.stack}`).not.toMatch(/p@ss|p%40ss/);
  });
});

test.for(['postgres', 'redis'] as const)(
  'closing a queue in %s stops active tasks and puts them back',
  async (kind, context) => {
    const address = await newQueue(kind, context);
    const runner = await openQueueRunner(address, { say });
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
    expect(said.join('\n')).not.toContain('after calling end');
  },
);

test.for(['postgres', 'redis'] as const)(
  'workers that write the same schedules to %s at the same time do not disturb each other',
  async (kind, context) => {
    const open = openAt(await newQueue(kind, context));
    const planned = Array.from({ length: 20 }, (_, index) => ({ workspace: `w${index}`, job: yearly('rare') }));
    const runners = await Promise.all([open(), open(), open(), open()]);
    await Promise.all(runners.map((runner) => runner.keepSchedules(planned)));
    expect((await runners[0]?.state())?.schedules).toBe(20);
    expect(await runners[1]?.outstanding(400 * 86_400_000)).toBe(20);
  },
);

test.for(['postgres', 'redis'] as const)(
  'workers that record a data folder in %s at the same time agree on one until it is replaced',
  async (kind, context) => {
    const open = openAt(await newQueue(kind, context));
    const runners = await Promise.all([open(), open(), open(), open()]);
    expect(await runners[0]?.recordedFolder()).toBeNull();
    const recorded = await Promise.all(runners.map((runner, index) => runner.recordFolder(`folder ${index}`, false)));
    expect(new Set(recorded).size).toBe(1);
    expect(await runners[0]?.recordFolder('moved', true)).toBe('moved');
    expect(await runners[1]?.recordFolder('folder 1', false)).toBe('moved');
    expect(await runners[2]?.recordedFolder()).toBe('moved');
  },
);

test('schedules are written to postgres despite deadlocks, and a permanent deadlock is reported', async (context) => {
  const address = await newQueue('postgres', context);
  const runner = await openAt(address)();
  // A sequence keeps its value when the statement is rolled back.
  await runSql(
    address,
    `CREATE SEQUENCE bullmq.tries;
     CREATE FUNCTION bullmq.conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF nextval('bullmq.tries') <= 5 OR NEW.scheduler_id LIKE 'never/%' THEN
         RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01';
       END IF;
       RETURN NEW;
     END $$;
     CREATE TRIGGER conflict BEFORE INSERT ON bullmq.scheduler FOR EACH ROW EXECUTE FUNCTION bullmq.conflict()`,
  );
  const planned = (workspace: string) => [{ workspace, job: yearly('rare') }];
  expect(await runner.keepSchedules(planned('w'))).toEqual({ added: 1, removed: 0 });
  expect((await runner.state()).schedules).toBe(1);
  await expect(runner.keepSchedules(planned('never'))).rejects.toMatchObject({
    code: 'queue_unreachable',
    message: expect.stringMatching(/rolled back a statement because of a conflict \(deadlock detected\)$/),
  });
});

test.for(['postgres', 'redis'] as const)('a wrong password for %s is rejected and not shown', async (kind, context) => {
  const address = await newQueue(kind, context);
  const url = Object.assign(new URL(address.url), { password: 'wrong-one' }).href;
  const failure = await openQueueRunner({ ...address, url }).catch((thrown: Error) => thrown);
  const message = expect.stringMatching(/^the queue database of QUEUE_DATABASE_URL refuses \(.*pass/i);
  expect(failure).toMatchObject({ code: 'queue_unreachable', message });
  expect(String((failure as Error).stack)).not.toContain('wrong-one');
});
