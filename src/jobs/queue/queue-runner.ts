import type { PgBoss } from 'pg-boss';
import { systemClock as clock } from '../../base/clock.ts';
import type { QueueAddress } from '../../base/config/runner-settings.ts';
import { SightlineError } from '../../base/errors.ts';
import type { Kept, Planned, Runner } from '../runner.ts';
import { databaseNow, openQueue, type QueueRunnerOptions, READ_MAX, TASKS } from './queue-connection.ts';
import { isAway, toQueueError } from './queue-failure.ts';
import { readFolder, writeFolder } from './queue-records.ts';
import { countOutstanding, readQueueState } from './queue-state.ts';
import { dueNow, isNextOfSchedule, type NewTask, nextOfSchedule } from './queue-task.ts';
import { type Trouble, workOnQueue } from './queue-worker.ts';

/**
 * Opens the queue that workers on several machines share.
 * @throws `config_invalid` if pg-boss is not installed, `queue_unreachable`, or the signal's reason
 */
export async function openQueueRunner(address: QueueAddress, options: QueueRunnerOptions = {}): Promise<Runner> {
  const { say = () => undefined } = options;
  const trouble = createTrouble(address, say);
  const boss = await openQueue(address, options, trouble.report);
  const ask = async <T>(question: Promise<T>): Promise<T> => {
    try {
      return await question;
    } catch (thrown) {
      throw toQueueError(thrown, address);
    }
  };
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();
  return {
    keepSchedules: (planned, { removes = true } = {}) => ask(keepSchedules(boss, planned, removes)),
    enqueue: (tasks) => ask(add(boss, tasks.map(dueNow))),
    work: (work) => {
      const stop = AbortSignal.any([work.signal, closing.signal]);
      const ended = ask(workOnQueue(boss, { ...work, signal: stop }, { say, trouble }));
      const tracked = ended.catch(() => undefined).finally(() => underWay.delete(tracked));
      underWay.add(tracked);
      return ended;
    },
    outstanding: (withinMs) => ask(countOutstanding(boss, withinMs)),
    state: () => ask(readQueueState(boss)),
    recordedFolder: () => ask(readFolder(boss)),
    recordFolder: (folder, replaces) => ask(writeFolder(boss, folder, replaces)),
    close: async () => {
      closing.abort(new SightlineError('interrupted', 'the queue is closed'));
      await Promise.all(underWay);
      await boss.stop({ graceful: false });
    },
  };
}

// Every schedule has one task in the queue that no worker has begun: its next run.
async function keepSchedules(boss: PgBoss, planned: readonly Planned[], removes: boolean): Promise<Kept> {
  const queued = await boss.findJobs(TASKS, { queued: true, limit: READ_MAX });
  const now = await databaseNow(boss);
  const kept = new Map(queued.filter(isNextOfSchedule).map(({ singletonKey, id }) => [singletonKey, id]));
  const wanted = planned.flatMap(({ workspace, job: { name, cron, timeZone } }) => {
    return nextOfSchedule({ workspace, job: name }, { cron: cron.text, timeZone }, now) ?? [];
  });
  const missing = wanted.filter(({ singletonKey }) => !kept.has(singletonKey));
  for (const { singletonKey } of wanted) kept.delete(singletonKey);
  const gone = removes ? [...kept.values()] : [];
  if (gone.length > 0) await boss.deleteJob(TASKS, gone);
  return { added: await add(boss, missing), removed: gone.length };
}

// Sorted, so that workers that add the same tasks at the same time lock their rows in the same order.
async function add(boss: PgBoss, tasks: readonly NewTask[]): Promise<number> {
  if (tasks.length === 0) return 0;
  const sorted = tasks.toSorted((a, b) => (a.singletonKey < b.singletonKey ? -1 : 1));
  return (await boss.insert(TASKS, sorted, { returnId: true }))?.length ?? 0;
}

// Reports the loss of the database once and its return once.
function createTrouble(address: QueueAddress, say: (sentence: string) => void): Trouble {
  let wasAway = false;
  let lastMs = clock.monotonic();
  return {
    lastMs: () => lastMs,
    report: (thrown: unknown): void => {
      const { message } = toQueueError(thrown, address);
      if (!isAway(thrown)) return say(`Queue error: ${message}`);
      if (!wasAway) say(`${message.replace(/^t/, 'T')}; running tasks continue.`);
      wasAway = true;
      lastMs = clock.monotonic();
    },
    end: (): void => {
      if (wasAway) say("The queue's database answers again.");
      wasAway = false;
    },
  };
}
