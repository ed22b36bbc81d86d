import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, type TestContext, test } from 'vitest';
import type { QueueAddress } from '../../src/base/config/runner-settings.ts';
import { openJobLog } from '../../src/jobs/job-log.ts';
import { createProcessRunner } from '../../src/jobs/process-runner.ts';
import type { Lease, Planned, Task } from '../../src/jobs/runner.ts';
import { type Child, startChild } from '../support/child.ts';
import { countOf } from '../support/counts.ts';
import { temporaryFolder } from '../support/folders.ts';
import { newQueue, openWay, runSql } from './queues.ts';
import { everyMinute, type Open, openAt, said, say, settled, startWork, tasksOf, yearly } from './runners.ts';

/** Tasks that wait in front of one that lost its worker. */
const BACKLOG = countOf(20, 1_000);

/** Twice the time after which a lost task is taken over at the latest. */
const TAKEN_OVER = { timeout: 60_000 };

beforeEach(() => void said.splice(0));

const kinds: Readonly<Record<string, (context: TestContext) => Promise<Open>>> = {
  process: async () => {
    const folder = await temporaryFolder();
    const runner = createProcessRunner({ jobLogOf: () => openJobLog(folder), say });
    return async () => runner;
  },
  postgres: async (context) => openAt(await newQueue(context)),
};

describe.each(Object.entries(kinds))('a runner of kind %s', (_, kind) => {
  test('performs every task once, up to its concurrency at a time, and remembers how each ended', async (context) => {
    const runner = await (await kind(context))();
    const begun: string[] = [];
    let [now, most] = [0, 0];
    let fill = (): void => undefined;
    const filled = new Promise<void>((resolve) => {
      fill = resolve;
    });
    expect(await runner.enqueue(tasksOf(12))).toBe(12);
    expect(await runner.enqueue([...tasksOf(12), { workspace: 'w1', job: 'hourly' }])).toBe(1);
    expect(await runner.state()).toMatchObject({ counts: { waiting: 13, active: 0 }, leases: [] });
    startWork(runner, async ({ workspace, job }) => {
      begun.push(`${workspace} ${job}`);
      now += 1;
      most = Math.max(most, now);
      // The first tasks wait until the runner has had time to start one too many.
      if (now === 3) fill();
      await filled;
      await runner.state();
      now -= 1;
      return settled;
    });
    await expect.poll(() => runner.outstanding(0), { timeout: 200_000 }).toBe(0);
    expect(begun.sort()).toEqual([...tasksOf(12).map(({ workspace }) => `${workspace} nightly`), 'w1 hourly'].sort());
    expect(most).toBe(3);
    const { ended, counts } = await runner.state();
    expect(counts).toMatchObject({ waiting: 0, active: 0, failed: 0 });
    expect(ended).toHaveLength(13);
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['done']));
  });

  test('restarts a task that was put back after its delay, and continues after a task that throws', async (context) => {
    const runner = await (await kind(context))();
    const begun: Task[] = [];
    await runner.enqueue(tasksOf(3));
    startWork(runner, async (task) => {
      begun.push(task);
      if (task.workspace === 'w0' && task.attempt < 3) return { kind: 'put back', afterMs: 50 };
      if (task.workspace === 'w1') throw new Error('of a test');
      return settled;
    });
    await expect.poll(async () => (await runner.state()).ended.length, { timeout: 200_000 }).toBe(3);
    expect(await runner.outstanding(60_000)).toBe(0);
    expect(begun.filter(({ workspace }) => workspace === 'w0').map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    const { ended, counts } = await runner.state();
    expect(counts).toMatchObject({ failed: 1, delayed: 0 });
    expect(ended.map(({ workspace, status }) => `${workspace} ${status}`).sort()).toEqual([
      'w0 done',
      'w1 failed',
      'w2 done',
    ]);
    expect(said.join('\n')).toContain('job nightly of w1 failed: of a test');
    expect(await runner.enqueue(tasksOf(2))).toBe(2);
  });

  test('starts a task that was put back before a backlog', async (context) => {
    const runner = await (await kind(context))();
    await runner.enqueue([
      { workspace: 'at-once', job: 'nightly' },
      { workspace: 'later', job: 'nightly' },
    ]);
    await runner.enqueue(tasksOf(BACKLOG));
    const begun: string[] = [];
    const work = startWork(
      runner,
      async ({ workspace, attempt }) => {
        begun.push(`${workspace} ${attempt}`);
        if (workspace === 'at-once' && attempt === 1) return { kind: 'put back', afterMs: 0 };
        if (workspace === 'later' && attempt === 1) return { kind: 'put back', afterMs: 50 };
        // Until the task that was put back later is due.
        await delay(200);
        return settled;
      },
      1,
    );
    await expect.poll(() => begun.length, { timeout: 200_000 }).toBeGreaterThanOrEqual(5);
    await work.stop();
    expect(begun.slice(0, 3)).toEqual(['at-once 1', 'at-once 2', 'later 1']);
    expect(begun.slice(3, 5)).toContain('later 2');
  });

  test('runs a task once more if it is requested again while it is active', async (context) => {
    const runner = await (await kind(context))();
    let begun = 0;
    startWork(runner, async () => {
      begun += 1;
      if (begun === 1) for (const _ of [1, 2, 3]) await runner.enqueue(tasksOf(1));
      return settled;
    });
    await runner.enqueue(tasksOf(1));
    await expect.poll(async () => (await runner.state()).ended.length, { timeout: 200_000 }).toBe(2);
    expect(begun).toBe(2);
    expect(await runner.outstanding(60_000)).toBe(0);
  });

  test('starts no task of a workspace while another one of it is active', async (context) => {
    const runner = await (await kind(context))();
    const begun: string[] = [];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    startWork(runner, async ({ workspace, job }) => {
      begun.push(`${workspace} ${job}`);
      if (job === 'hourly') await released;
      return settled;
    });
    await runner.enqueue(tasksOf(1, 'hourly'));
    await expect.poll(() => begun.length, { timeout: 200_000 }).toBe(1);
    await runner.enqueue(tasksOf(2));
    await expect.poll(async () => (await runner.state()).ended.length, { timeout: 200_000 }).toBeGreaterThan(0);
    release();
    await expect.poll(() => begun.length, { timeout: 200_000 }).toBe(3);
    expect(begun).toEqual(['w0 hourly', 'w1 nightly', 'w0 nightly']);
  });

  test('lists its leases, and puts active tasks back at once when it is stopped', async (context) => {
    const open = await kind(context);
    const runner = await open();
    await runner.enqueue(tasksOf(2));
    const stopped: Task[] = [];
    const work = startWork(runner, async (task, { signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      stopped.push(task);
      return { kind: 'put back', afterMs: 60_000 };
    });
    await expect.poll(async () => (await runner.state()).workers[0]?.tasks, { timeout: 200_000 }).toBe(2);
    const { leases, workers } = await runner.state();
    expect(workers).toEqual([expect.objectContaining({ name: 'tester', pid: process.pid, concurrency: 3 })]);
    expect(leases.map(({ workspace, worker }) => `${workspace} ${worker}`).sort()).toEqual(['w0 tester', 'w1 tester']);
    await work.stop();
    expect(stopped).toHaveLength(2);
    expect(await runner.state()).toMatchObject({ workers: [], leases: [] });
    expect(await runner.outstanding(0)).toBe(2);
    const again: string[] = [];
    startWork(await open(), async ({ workspace }) => {
      again.push(workspace);
      return settled;
    });
    await expect.poll(() => again.sort(), { timeout: 200_000 }).toEqual(['w0', 'w1']);
  });

  test('adds new schedules, replaces changed ones, and removes those that are no longer planned', async (context) => {
    const runner = await (await kind(context))();
    const planned = (...jobs: Planned['job'][]): Planned[] =>
      ['w0', 'w1'].flatMap((workspace) => jobs.map((job) => ({ workspace, job })));
    expect(await runner.keepSchedules(planned(yearly('a'), yearly('b')))).toEqual({ added: 4, removed: 0 });
    expect(await runner.keepSchedules(planned(yearly('a'), yearly('b')))).toEqual({ added: 0, removed: 0 });
    const { schedules, nextDue } = await runner.state();
    expect(schedules).toBe(4);
    expect(nextDue).toBe(`${new Date().getUTCFullYear() + 1}-01-01T00:00:00.000Z`);
    expect(await runner.keepSchedules(planned(yearly('c')), { removes: false })).toEqual({ added: 2, removed: 0 });
    expect((await runner.state()).schedules).toBe(6);
    expect(await runner.keepSchedules(planned(everyMinute('a')))).toEqual({ added: 2, removed: 6 });
    expect((await runner.state()).schedules).toBe(2);
    expect(await runner.outstanding(60_001)).toBe(2);
  });
});

describe('a queue that workers share', () => {
  test('gives the tasks of a killed worker to another one before a backlog', async (context) => {
    const address = await newQueue(context);
    const runner = await openAt(address)();
    const killed = startWorker(address, 'killed');
    expect(await runner.enqueue(tasksOf(2 + BACKLOG))).toBe(2 + BACKLOG);
    expect([await killed.message(), await killed.message()].sort()).toEqual(['begun w0 1', 'begun w1 1']);
    await killed.kill();
    const begun: string[] = [];
    const work = startWork(
      runner,
      async ({ workspace, attempt }) => {
        begun.push(`${workspace} ${attempt}`);
        // The first one occupies the only slot until both tasks of the killed worker are back in the queue.
        while (begun.length === 1 && (await runner.state()).counts.waiting < BACKLOG + 1) await delay(50);
        return settled;
      },
      1,
    );
    await expect.poll(() => begun.length, TAKEN_OVER).toBeGreaterThan(2);
    await work.stop();
    expect(begun[0]).toMatch(/^w\d+ 1$/);
    expect(begun.slice(1, 3).sort()).toEqual(['w0 2', 'w1 2']);
  });

  test('gives the tasks of a suspended worker to others, and the worker notices that when it goes on', async (context) => {
    const address = await newQueue(context);
    const runner = await openAt(address)();
    const paused = startWorker(address, 'paused');
    await runner.enqueue(tasksOf(2));
    expect([await paused.message(), await paused.message()].sort()).toEqual(['begun w0 1', 'begun w1 1']);
    paused.process.kill('SIGSTOP');
    const taken: Task[] = [];
    startWork(runner, async (task) => {
      taken.push(task);
      return settled;
    });
    await expect.poll(() => taken.length, TAKEN_OVER).toBe(2);
    expect(taken.map(({ workspace, attempt }) => `${workspace} ${attempt}`).sort()).toEqual(['w0 2', 'w1 2']);
    paused.process.kill('SIGCONT');
    expect([await paused.message(), await paused.message()].sort()).toEqual(['lost w0', 'lost w1']);
    await expect.poll(() => runner.outstanding(60_000)).toBe(0);
    const { ended, counts } = await runner.state();
    expect([ended.length, counts.failed]).toEqual([2, 0]);
  });

  test('leaves active tasks with their worker after the database was away for longer than a lease', async (context) => {
    const address = await newQueue(context);
    const [holdersWay, othersWay] = [await openWay(address), await openWay(address)];
    const [holder, other] = [await openAt(holdersWay.address)(), await openAt(othersWay.address)()];
    const begun: string[] = [];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const performBy =
      (name: string) =>
      async ({ workspace, attempt }: Task, { signal }: Lease) => {
        begun.push(`${workspace} ${attempt} ${name}`);
        signal.addEventListener('abort', () => begun.push(`${workspace} was lost by ${name}`));
        await released;
        return settled;
      };
    const countRows = async (condition: string): Promise<number | null> =>
      (await runSql(address, `SELECT 1 FROM sightline_queue.${condition}`)).rowCount;
    await holder.enqueue(tasksOf(3));
    startWork(holder, performBy('the holder'));
    await expect.poll(() => begun.length, { timeout: 200_000 }).toBe(3);
    startWork(other, performBy('the other'));
    // Both workers were connected for long enough to search for lost tasks.
    const searched = "queue WHERE name = 'tasks' AND monitor_claim_on IS NOT NULL";
    await expect.poll(() => countRows(searched), { timeout: 200_000 }).toBe(1);
    holdersWay.cut();
    othersWay.cut();
    await expect.poll(() => said.filter((text) => text.includes('running tasks continue')).length).toBe(2);
    await runSql(address, "UPDATE sightline_queue.job SET heartbeat_on = '2000-01-01' WHERE state = 'active'");
    const cutAt = (await runSql(address, 'SELECT clock_timestamp()::text AS at')).rows[0].at;
    // The other worker comes back first and could search for lost tasks before the holder has renewed its leases.
    othersWay.mend();
    const wrote = `job WHERE name = 'records' AND start_after > '${cutAt}'`;
    await expect.poll(() => countRows(wrote), { timeout: 200_000 }).toBe(1);
    holdersWay.mend();
    const renewed = `job WHERE state = 'active' AND heartbeat_on > '${cutAt}'`;
    await expect.poll(() => countRows(renewed), { timeout: 200_000 }).toBe(3);
    release();
    const direct = await openAt(address)();
    await expect.poll(() => direct.outstanding(60_000), { timeout: 200_000 }).toBe(0);
    expect(begun.sort()).toEqual(['w0 1 the holder', 'w1 1 the holder', 'w2 1 the holder']);
    expect((await direct.state()).ended.map(({ status }) => status)).toEqual(['done', 'done', 'done']);
  });
});

/** Starts a process that performs two tasks at a time and keeps them. */
function startWorker(address: QueueAddress, name: string): Child {
  return startChild(new URL('runner-child.ts', import.meta.url), JSON.stringify(address), name);
}
