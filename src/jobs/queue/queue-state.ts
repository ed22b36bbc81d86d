import type { PgBoss } from 'pg-boss';
import { ENDED_MAX, type RunnerState } from '../runner.ts';
import { databaseNow, READ_MAX, TASKS } from './queue-connection.ts';
import { readWorkers, type WorkerRecord } from './queue-records.ts';
import { isNextOfSchedule, readTask, type TaskJob } from './queue-task.ts';

/** Status that a worker writes when a task ends. */
const STATUS = /^[a-z ]{1,40}$/;
/** A worker not seen for this long is not listed. */
const GONE_MS = 60_000;

/** Reads the state of the queue and its workers. Tasks with invalid data are counted, but not listed. */
export async function readQueueState(boss: PgBoss): Promise<RunnerState> {
  const [tasks, workers] = [await boss.findJobs<unknown>(TASKS, { limit: READ_MAX }), await readWorkers(boss)];
  const now = await databaseNow(boss);
  const queued = tasks.filter(isQueued);
  const waiting = queued.filter(({ startAfter }) => startAfter.getTime() <= now);
  const delayed = queued.filter(({ startAfter }) => startAfter.getTime() > now);
  const active = tasks.filter(({ state }) => state === 'active');
  const ended = tasks
    .filter(({ completedOn }) => completedOn !== null)
    .sort((a, b) => Number(b.completedOn) - Number(a.completedOn))
    .slice(0, ENDED_MAX);
  const present = workers.filter(({ seen }) => now - seen.getTime() <= GONE_MS);
  return {
    counts: {
      waiting: waiting.length,
      active: active.length,
      delayed: delayed.length,
      failed: ended.filter((task) => statusOf(task) === 'failed').length,
    },
    schedules: queued.filter(isNextOfSchedule).length,
    oldestWaiting: firstStart(waiting),
    nextDue: firstStart(delayed),
    workers: present.map(({ since, seen, tasks: held, ...worker }) => {
      const own = active.filter(({ id }) => held.includes(id)).length;
      return { ...worker, since: iso(since), seen: iso(seen), tasks: own };
    }),
    leases: active.flatMap((task) => toLease(task, workers)),
    ended: ended.flatMap((task) => {
      const names = namesOf(task);
      return names === null ? [] : [{ ...names, status: statusOf(task), endedAt: iso(task.completedOn) }];
    }),
  };
}

/** Counts the tasks that are active, wait, or are due within `withinMs`. */
export async function countOutstanding(boss: PgBoss, withinMs: number): Promise<number> {
  const untilMs = (await databaseNow(boss)) + withinMs;
  const tasks = await boss.findJobs<unknown>(TASKS, { limit: READ_MAX });
  return tasks.filter((task) => task.state === 'active' || (isQueued(task) && task.startAfter.getTime() <= untilMs))
    .length;
}

function isQueued({ state }: TaskJob): boolean {
  return state === 'created' || state === 'retry';
}

function firstStart(tasks: readonly TaskJob[]): string | null {
  const first = tasks.reduce((earliest, { startAfter }) => Math.min(earliest, startAfter.getTime()), Infinity);
  return first === Infinity ? null : new Date(first).toISOString();
}

function toLease(task: TaskJob, workers: readonly WorkerRecord[]): RunnerState['leases'] {
  const names = namesOf(task);
  if (names === null) return [];
  // A worker writes its tasks a few seconds after it has begun them.
  const worker = workers.find(({ tasks }) => tasks.includes(task.id))?.name ?? 'unknown';
  return [{ ...names, worker, since: iso(task.startedOn), renewed: iso(task.heartbeatOn ?? task.startedOn) }];
}

function namesOf({ data }: TaskJob): { workspace: string; job: string } | null {
  const content = readTask(data);
  return content === null ? null : { workspace: content.workspace, job: content.job };
}

function statusOf({ output }: TaskJob): string {
  const { status } = (output ?? {}) as { status?: unknown };
  return typeof status === 'string' && STATUS.test(status) ? status : 'unknown';
}

function iso(date: Date | null): string {
  return (date ?? new Date(0)).toISOString();
}
