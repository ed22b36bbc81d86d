import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { PgBoss } from 'pg-boss';
import { systemClock as clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import type { TaskEnd, WorkOptions } from '../runner.ts';
import { databaseNow, LEASE_MS, READ_MAX, TASKS } from './queue-connection.ts';
import { isAway } from './queue-failure.ts';
import { removeWorker, writeWorker } from './queue-records.ts';
import { nextOfSchedule, readTask, type TaskData, type TaskJob, toTask } from './queue-task.ts';

/** How often a worker renews its leases, updates its record, and searches for tasks that have lost their worker. */
const BEAT_MS = 3_000;
/** How often each free slot of a worker asks for a task. */
const POLL_SECONDS = 1;
const RETRY_MS = 1_000;
/** Priority of tasks that were begun; that of others is 0. Higher numbers run first. */
const BEGUN_PRIORITY = 1;
/** Characters of an invalid task that a message shows. */
const SHOWN_MAX = 200;

/** What is known about the database: errors that pass, and that it has answered. */
export interface Trouble {
  report(thrown: unknown): void;
  end(): void;
  /** When the database did not answer last, or the queue was opened, on the monotonic clock. */
  lastMs(): number;
}

/** Dependencies of `workOnQueue`. */
export interface WorkerParts {
  readonly say: (sentence: string) => void;
  readonly trouble: Trouble;
}

interface Working extends WorkerParts {
  readonly boss: PgBoss;
  readonly options: WorkOptions;
  /** Ids of the active tasks of this worker. */
  readonly held: Set<string>;
}

/** Performs tasks of the queue until the signal is aborted and the active tasks have ended. */
export async function workOnQueue(boss: PgBoss, options: WorkOptions, parts: WorkerParts): Promise<void> {
  const working: Working = { ...parts, boss, options, held: new Set() };
  const polling = {
    includeMetadata: true,
    localConcurrency: options.concurrency,
    // A task waits while another one of its workspace is active. If two are taken at the same moment, the lock of the
    // workspace puts one of them back.
    groupConcurrency: 1,
    pollingIntervalSeconds: POLL_SECONDS,
    heartbeatRefreshSeconds: BEAT_MS / 1000,
  } as const;
  const id = await boss.work(TASKS, polling, async ([job]: TaskJob[]) => {
    if (job !== undefined) await perform(working, job);
  });
  await beat(working);
  await boss.offWork(TASKS, { id, wait: true });
}

async function perform(working: Working, job: TaskJob): Promise<void> {
  const { held, say } = working;
  const content = readTask(job.data);
  if (content === null) {
    const shown = JSON.stringify(job.data).slice(0, SHOWN_MAX);
    say(`task ${job.id} of the queue is invalid: its data are ${shown}; allowed: the names of a workspace and a job`);
    return settle(working, job, { kind: 'settled', status: 'failed' });
  }
  held.add(job.id);
  // Once: the schedule may have been removed since then.
  if (job.retryCount === 0) await addNextOfSchedule(working, content);
  await settle(working, job, await performOne(working, job, content)).finally(() => held.delete(job.id));
}

async function performOne({ options, say }: Working, job: TaskJob, content: TaskData): Promise<TaskEnd> {
  const lost = new AbortController();
  const lose = (): void => lost.abort(new SightlineError('interrupted', 'another worker has taken the task over'));
  job.signal.addEventListener('abort', lose);
  const signal = AbortSignal.any([options.signal, lost.signal]);
  try {
    if (signal.aborted) return { kind: 'put back', afterMs: 0 };
    return await options.perform(toTask(job, content), { signal });
  } catch (thrown) {
    // A task that was stopped has not failed.
    if (signal.aborted) return { kind: 'put back', afterMs: 0 };
    say(`job ${content.job} of ${content.workspace} failed: ${thrown instanceof Error ? thrown.message : thrown}`);
    return { kind: 'settled', status: 'failed' };
  } finally {
    // pg-boss also aborts the signal of a task that has ended.
    job.signal.removeEventListener('abort', lose);
  }
}

// If the database does not answer, `keepSchedules` adds it later.
async function addNextOfSchedule({ boss, trouble }: Working, { schedule, ...names }: TaskData): Promise<void> {
  if (schedule === undefined) return;
  try {
    const next = nextOfSchedule(names, schedule, await databaseNow(boss));
    if (next !== null) await boss.insert(TASKS, [next]);
  } catch (thrown) {
    trouble.report(thrown);
  }
}

// Retries while the database is away, because the task would be done again if its end were not recorded. After an abort
// it tries once more. Every call names the attempt, so it changes nothing if another worker has the task.
async function settle({ boss, options }: Working, job: TaskJob, end: TaskEnd): Promise<void> {
  for (let isLast = false; !job.signal.aborted;) {
    try {
      if (end.kind === 'settled') return void (await boss.complete(TASKS, job, { status: end.status }));
      await boss.fail(TASKS, job, { status: 'put back' });
      return await prefer(boss, job.id, options.signal.aborted ? 0 : end.afterMs);
    } catch (thrown) {
      if (!isAway(thrown) || isLast) throw thrown;
      isLast = options.signal.aborted;
      await clock.sleep(RETRY_MS, options.signal).catch(() => undefined);
    }
  }
}

// Starts a task that was begun before those that were not, after a delay.
async function prefer(boss: PgBoss, id: string, afterMs: number): Promise<void> {
  await boss.update(TASKS, undefined, { id, priority: BEGUN_PRIORITY, startAfter: afterMs / 1000 });
}

// Writes the worker's record and searches for lost tasks regularly.
async function beat({ boss, options, held, trouble }: Working): Promise<void> {
  const { name, concurrency, signal } = options;
  const id = randomUUID();
  let [awakeSince, lastMs] = [clock.monotonic(), clock.monotonic()];
  while (!signal.aborted) {
    try {
      await writeWorker(boss, id, { name, host: hostname(), pid: process.pid, concurrency, tasks: [...held] });
      trouble.end();
      const now = clock.monotonic();
      // This process was suspended.
      if (now - lastMs > 2 * BEAT_MS) awakeSince = now;
      lastMs = now;
      // After the database was away, other workers get the time to renew their leases.
      if (now - Math.max(awakeSince, trouble.lastMs()) >= LEASE_MS) await returnLost(boss);
    } catch (thrown) {
      trouble.report(thrown);
    }
    await clock.sleep(BEAT_MS, signal, 'background').catch(() => undefined);
  }
  await Promise.race([removeWorker(boss, id).catch(() => undefined), clock.sleep(RETRY_MS)]);
}

// Returns tasks that have lost their worker to the queue.
async function returnLost(boss: PgBoss): Promise<void> {
  await boss.supervise();
  const queued = await boss.findJobs(TASKS, { queued: true, limit: READ_MAX });
  for (const { id, state, priority } of queued) {
    if (state === 'retry' && priority !== BEGUN_PRIORITY) await prefer(boss, id, 0);
  }
}
