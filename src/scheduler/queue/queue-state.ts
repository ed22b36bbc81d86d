import type { Clock } from '../../base/clock.ts';
import { ENDED_MAX, type EndedTask, type LeaseState, type RunnerState, type WorkerState } from '../runner.ts';
import type { TaskQueue } from './queue-connection.ts';
import { isMoment, namesOf, type TaskJob } from './queue-task.ts';
import { PRINTABLE, WORKER_PREFIX, type WrittenWorker, writtenWorkerSchema } from './queue-worker.ts';

/** Maximum number of active tasks that are listed. */
const LEASES_MAX = 1_000;
/** Status that a worker writes when a task ends. */
const STATUS = /^[a-z ]{1,40}$/;
/** A worker not seen for this long is not listed; its record is removed after an hour. */
const GONE_MS = 60_000;
const FORGOTTEN_MS = 3_600_000;

/** Reads the state of the queue and its workers. Invalid records are skipped. */
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
  // BullMQ has separate lists for tasks that were started before and for new ones.
  const waitingSince = [begun, fresh].map((job) => job?.opts.prevMillis ?? job?.timestamp).filter(isMoment);
  const written = await readWorkers(queue, clock);
  const leases = active.flatMap((job) => toLease(job, written) ?? []);
  const { waiting = 0, prioritized = 0, active: underWay = 0, delayed = 0, failed: threw = 0 } = counts;
  return {
    counts: { waiting: waiting + prioritized, active: underWay, delayed, failed: threw },
    schedules,
    oldestWaiting: waitingSince.length === 0 ? null : iso(Math.min(...waitingSince)),
    nextDue: next === undefined ? null : iso(Number(next)),
    workers: written.map((worker) => toWorker(worker, leases)),
    leases,
    ended: [...completed, ...failed]
      .flatMap((job) => toEnded(job) ?? [])
      .sort((a, b) => (a.endedAt < b.endedAt ? 1 : -1)),
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
    return writtenWorkerSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function toWorker({ renewed, ...worker }: WrittenWorker, leases: readonly LeaseState[]): WorkerState {
  return { ...worker, tasks: leases.filter((lease) => lease.worker === worker.name).length };
}

// Tasks with invalid data are not shown; a worker rejects them.
function toLease(job: TaskJob, workers: readonly WrittenWorker[]): LeaseState | null {
  const { id = '', processedOn } = job;
  const processedBy = PRINTABLE.test(job.processedBy ?? '') ? (job.processedBy ?? '') : 'unknown';
  const names = namesOf(job);
  if (names === null) return null;
  const since = iso(processedOn);
  const own = workers.filter(({ name }) => name === processedBy);
  // The worker has not yet recorded a renewal for a task that it has just started.
  const renewed = own.length === 0 ? null : (own.find(({ renewed: tasks }) => id in tasks)?.renewed[id] ?? since);
  return { ...names, worker: processedBy, since, renewed };
}

function toEnded(job: TaskJob): EndedTask | null {
  const { returnvalue, failedReason, finishedOn } = job;
  const names = namesOf(job);
  if (names === null) return null;
  const status = failedReason === undefined ? String(returnvalue) : 'failed';
  return { ...names, status: STATUS.test(status) ? status : 'unknown', endedAt: iso(finishedOn) };
}

function iso(ms: number | undefined): string {
  return new Date(isMoment(ms) ? ms : 0).toISOString();
}
