import type { Job } from 'bullmq';
import type { Clock } from '../base/clock.ts';
import { isRecord } from '../base/json.ts';
import type { TaskData, TaskQueue } from './queue-connection.ts';
import { WORKER_PREFIX, type WrittenWorker } from './queue-worker.ts';
import { ENDED_MAX, type EndedTask, type LeaseState, type RunnerState, type WorkerState } from './runner.ts';

/** Tasks under way that are told of. */
const LEASES_MAX = 1_000;
/** A worker that has said nothing for so long is gone; what it wrote is removed after an hour. */
const GONE_MS = 60_000;
const FORGOTTEN_MS = 3_600_000;

type TaskJob = Job<TaskData, string, string>;

/** Reads what the queue and its workers are at. */
export async function readQueueState(queue: TaskQueue, clock: Clock): Promise<RunnerState> {
  const backend = queue.getBackend();
  const [counts, schedules, [begun], [fresh], [, next], active, completed, failed] = await Promise.all([
    queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed'),
    backend.getJobSchedulersCount(),
    queue.getJobs(['waiting'], 0, 0, true),
    queue.getJobs(['prioritized'], 0, 0, true),
    backend.getJobSchedulersRange(0, 0, true),
    queue.getJobs(['active'], 0, LEASES_MAX - 1, true),
    queue.getJobs(['completed'], 0, ENDED_MAX - 1, false),
    queue.getJobs(['failed'], 0, ENDED_MAX - 1, false),
  ]);
  // The queue keeps tasks that were begun before apart from those that were not.
  const waitingSince = [begun, fresh].flatMap((job) =>
    job === undefined ? [] : [job.opts.prevMillis ?? job.timestamp],
  );
  const written = await readWorkers(queue, clock);
  const leases = active.map((job) => toLease(job, written));
  const { waiting = 0, prioritized = 0, active: underWay = 0, delayed = 0, failed: threw = 0 } = counts;
  return {
    counts: { waiting: waiting + prioritized, active: underWay, delayed, failed: threw },
    schedules,
    oldestWaiting: waitingSince.length === 0 ? null : iso(Math.min(...waitingSince)),
    nextDue: next === undefined ? null : iso(Number(next)),
    workers: written.map((worker) => toWorker(worker, leases)),
    leases,
    ended: [...completed, ...failed].map(toEnded).sort((a, b) => (a.endedAt < b.endedAt ? 1 : -1)),
  };
}

async function readWorkers(queue: TaskQueue, clock: Clock): Promise<WrittenWorker[]> {
  const backend = queue.getBackend();
  const found = Object.entries(await backend.getQueueMeta()).filter(([field]) => field.startsWith(WORKER_PREFIX));
  const read = found.map(([field, text]) => ({ field, worker: parse(text) }));
  const age = (worker: WrittenWorker | null): number =>
    worker === null ? Infinity : clock.now() - Date.parse(worker.seen);
  const forgotten = read.filter(({ worker }) => age(worker) > FORGOTTEN_MS).map(({ field }) => field);
  if (forgotten.length > 0) await backend.removeQueueMetaFields(forgotten);
  return read.flatMap(({ worker }) => (worker === null || age(worker) > GONE_MS ? [] : [worker]));
}

function parse(text: string): WrittenWorker | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && typeof value['name'] === 'string' ? (value as unknown as WrittenWorker) : null;
  } catch {
    return null;
  }
}

function toWorker({ renewed, ...worker }: WrittenWorker, leases: readonly LeaseState[]): WorkerState {
  return { ...worker, tasks: leases.filter((lease) => lease.worker === worker.name).length };
}

function toLease(
  { id = '', data, processedBy = '', processedOn }: TaskJob,
  workers: readonly WrittenWorker[],
): LeaseState {
  const since = iso(processedOn ?? 0);
  const own = workers.filter(({ name }) => name === processedBy);
  // One that has just been begun is not spoken of yet.
  const renewed = own.length === 0 ? null : (own.find(({ renewed: tasks }) => id in tasks)?.renewed[id] ?? since);
  return { workspace: data.workspace, job: data.job, worker: processedBy, since, renewed };
}

function toEnded({ data, returnvalue, failedReason, finishedOn }: TaskJob): EndedTask {
  const status = failedReason === undefined ? String(returnvalue) : 'failed';
  return { workspace: data.workspace, job: data.job, status, endedAt: iso(finishedOn ?? 0) };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
