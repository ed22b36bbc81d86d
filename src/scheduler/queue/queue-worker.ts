import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { SightlineError } from '../../base/errors.ts';
import { ENDED_MAX, type TaskEnd, type WorkOptions } from '../runner.ts';
import type { QueueConnection, TaskQueue, TaskWorker } from './queue-connection.ts';
import type { LeaseKey } from './queue-database.ts';
import { AwayError } from './queue-failure.ts';
import { namesOf, type TaskJob, toTask } from './queue-task.ts';

/** Lifetime of a lease that is not renewed. */
export const LEASE_MS = 20_000;
/** How often per lease a worker renews its leases and looks for expired leases of others. */
const LOOKS = 4;
/**
 * BullMQ fails a task that has lost its worker more often than this. The task is not to blame, so the limit is out of
 * reach.
 */
const LOST_MAX = 1_000_000;
/** A task is stopped when its lease could not be renewed for this long. */
const UNSURE_MS_MAX = 3 * 60_000;
/** Longest wait for a task, in seconds; a new task ends it. */
const DRAINED_SECONDS = 60;
const RETRY_MS = 1_000;
/**
 * Priorities of tasks that were never started and of those that were. Lower numbers run first, so a task that comes
 * back runs before all new ones, wherever the database puts it in the queue.
 */
export const FRESH_PRIORITY = 1;
const BEGUN_PRIORITY = 0;
/** Delay of a task that comes back to a worker that is still stopping it. */
const AGAIN_MS = 3_000;
/** Interval at which a worker updates its record. */
export const SEEN_EVERY_MS = 5_000;
/** Limit for closing the worker while the database is away. */
const CLOSE_MS_MAX = 10_000;

/** Prefix of the workers' records in the queue's metadata. */
export const WORKER_PREFIX = 'worker:';

/** Names of workers and machines that are safe to print on a terminal. */
export const PRINTABLE = /^[\x20-\x7e]{1,255}$/;
const printable = z.string().regex(PRINTABLE);
const time = z.iso.datetime();
/** Schema of the record that a worker writes about itself. */
export const writtenWorkerSchema = z.object({
  name: printable,
  host: printable,
  pid: z.int(),
  since: time,
  seen: time,
  concurrency: z.int(),
  /** When the lease of each task was last renewed, by the task's id. */
  renewed: z.record(z.string(), time),
});
/** The record that a worker writes about itself. */
export type WrittenWorker = Readonly<z.infer<typeof writtenWorkerSchema>>;

const TAKEN_OVER = 'another worker has taken the task over';

interface Held {
  readonly job: TaskJob;
  readonly key: LeaseKey;
  readonly stop: AbortController;
  isLost: boolean;
  renewedMs: number;
}

/** Dependencies of `workOnQueue`. */
export interface WorkerParts {
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly say: (sentence: string) => void;
  /** Converts a driver's error into one without the password. */
  readonly toError: (thrown: unknown) => Error;
}

/** Tasks that a worker performs at the moment, and the services that it needs for them. */
interface Performing {
  readonly held: Map<string, Held>;
  readonly options: WorkOptions;
  readonly parts: WorkerParts;
  readonly database: QueueConnection['database'];
}

/** Performs tasks of the queue until the signal is aborted and all leases have ended. */
export async function workOnQueue(
  { queue, database, createWorker }: QueueConnection,
  options: WorkOptions,
  parts: WorkerParts,
): Promise<void> {
  const { clock, say, leaseMs, toError } = parts;
  const { signal, name, concurrency } = options;
  const held = new Map<string, Held>();
  const performing: Performing = { held, options, parts, database };
  const trouble = createTrouble(say, toError);
  const worker = await createWorker((job, token = '') => perform(performing, job, token), {
    name,
    concurrency,
    autorun: false,
    lockDuration: leaseMs,
    lockRenewTime: leaseMs / LOOKS,
    stalledInterval: leaseMs / LOOKS,
    maxStalledCount: LOST_MAX,
    drainDelay: DRAINED_SECONDS,
    runRetryDelay: RETRY_MS,
    removeOnComplete: { count: ENDED_MAX },
    removeOnFail: { count: ENDED_MAX },
  });
  handleEvents(worker, performing, trouble);
  const backend = worker.getBackend();
  const takeOverExpired = backend.moveStalledJobsToWait.bind(backend);
  backend.moveStalledJobsToWait = async () => {
    const may = await database.mayReclaim(leaseMs).catch((thrown: unknown) => {
      throw toError(thrown);
    });
    return may ? takeOverExpired() : [];
  };
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const stopTasks = (): void => {
    for (const { stop } of held.values()) stop.abort(signal.reason);
  };
  signal.addEventListener('abort', stopTasks, { once: true });
  const presence = keepPresent(queue, { name, concurrency, held, clock, signal, onSeen: trouble.end });
  const run = worker.run().catch(trouble.report);
  await stopped;
  await close(worker, held, clock);
  await Promise.all([run, presence]);
}

async function perform(performing: Performing, job: TaskJob, token: string): Promise<string> {
  const { held, options, parts } = performing;
  const { clock } = parts;
  const { signal } = options;
  const { DelayedError, WaitingError } = await import('bullmq');
  const id = job.id ?? '';
  const key = { id, token, attempt: job.attemptsStarted };
  const lease: Held = { job, key, stop: new AbortController(), isLost: false, renewedMs: clock.monotonic() };
  // This worker lost the task, got it back, and is still stopping its first run.
  if (held.has(id)) {
    await putBack(job, token, signal.aborted ? 0 : AGAIN_MS, lease, clock, signal);
    throw signal.aborted ? new WaitingError() : new DelayedError();
  }
  held.set(id, lease);
  try {
    // Before the task starts, so that it comes back before new tasks if this process is killed.
    await markBegun(lease);
    const end = await performOne(job, lease, options, clock);
    await renewExpired(performing, lease).catch(() => undefined);
    // Another worker has the task now and settles it.
    if (lease.isLost) throw new WaitingError();
    if (end.kind === 'settled') return end.status;
    await putBack(job, token, signal.aborted ? 0 : end.afterMs, lease, clock, signal);
    throw end.afterMs === 0 || signal.aborted ? new WaitingError() : new DelayedError();
  } finally {
    held.delete(id);
  }
}

async function renewExpired({ database, parts }: Performing, lease: Held): Promise<void> {
  if (database.renewExpired === null || lease.isLost) return;
  const isRenewed = await database.renewExpired(lease.key, parts.leaseMs);
  if (isRenewed) lease.renewedMs = parts.clock.monotonic();
  else lose(lease, TAKEN_OVER);
}

function handleEvents(worker: TaskWorker, performing: Performing, trouble: Trouble): void {
  const { held, database, parts } = performing;
  const leasesOf = (ids: readonly string[]): Held[] => ids.flatMap((id) => held.get(id) ?? []);
  worker.on('error', trouble.report);
  worker.on('failed', (job, { message }) => {
    const names = job === undefined ? null : namesOf(job);
    parts.say(names === null ? message : `job ${names.job} of ${names.workspace} failed: ${message}`);
  });
  worker.on('lockRenewalFailed', (ids) => {
    for (const lease of leasesOf(ids)) {
      if (database.renewExpired === null) lose(lease, TAKEN_OVER);
      else void renewExpired(performing, lease).catch(trouble.report);
    }
  });
  worker.on('locksRenewed', ({ jobIds }) => {
    trouble.end();
    for (const lease of leasesOf(jobIds)) {
      lease.renewedMs = parts.clock.monotonic();
      void markBegun(lease);
    }
  });
}

async function performOne(job: TaskJob, lease: Held, options: WorkOptions, clock: Clock): Promise<TaskEnd> {
  try {
    if (options.signal.aborted) return { kind: 'put back', afterMs: 0 };
    return await options.perform(toTask(job, clock.now()), { signal: lease.stop.signal });
  } catch (thrown) {
    // A task that was stopped has not failed.
    if (lease.isLost || options.signal.aborted) return { kind: 'put back', afterMs: 0 };
    throw thrown;
  }
}

// An error is ignored, because the next renewal of the lease tries again.
async function markBegun({ job }: Held): Promise<void> {
  if (job.priority === BEGUN_PRIORITY) return;
  await job.changePriority({ priority: BEGUN_PRIORITY }).catch(() => undefined);
}

function lose(lease: Held | undefined, why: string): void {
  if (lease === undefined) return;
  lease.isLost = true;
  lease.stop.abort(new SightlineError('interrupted', why));
}

// Retries while the database is away, because a task that was not put back would count as failed. After an abort it
// tries once more; the lease then expires by itself.
async function putBack(
  job: TaskJob,
  token: string | undefined,
  afterMs: number,
  lease: Held,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (let isLast = false; !lease.isLost;) {
    try {
      if (afterMs === 0) await job.moveToWait(token);
      else await job.moveToDelayed(clock.now() + afterMs, token);
      return;
    } catch (thrown) {
      // The task belongs to another worker now, or this was the last attempt.
      if (!(thrown instanceof AwayError) || isLast) return;
      isLast = signal.aborted;
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
}

interface Presence {
  readonly name: string;
  readonly concurrency: number;
  readonly held: ReadonlyMap<string, Held>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onSeen: () => void;
}

// Updates the worker's record regularly, and stops tasks whose lease could not be renewed for minutes.
async function keepPresent(
  queue: TaskQueue,
  { name, concurrency, held, clock, signal, onSeen }: Presence,
): Promise<void> {
  const backend = queue.getBackend();
  const field = `${WORKER_PREFIX}${name}/${randomUUID().slice(0, 8)}`;
  const since = new Date(clock.now()).toISOString();
  const agoToIso = (ms: number): string => new Date(clock.now() - (clock.monotonic() - ms)).toISOString();
  while (!signal.aborted) {
    for (const lease of held.values()) {
      if (clock.monotonic() - lease.renewedMs > UNSURE_MS_MAX)
        lose(lease, 'the lease could not be renewed for 3 minutes');
    }
    const renewed = Object.fromEntries([...held].map(([id, { renewedMs }]) => [id, agoToIso(renewedMs)]));
    const seen = new Date(clock.now()).toISOString();
    const written: WrittenWorker = { name, host: hostname(), pid: process.pid, since, seen, concurrency, renewed };
    await backend.setQueueMeta({ [field]: JSON.stringify(written) }).then(onSeen, () => undefined);
    await clock.sleep(SEEN_EVERY_MS, signal, 'background').catch(() => undefined);
  }
  await Promise.race([backend.removeQueueMetaFields([field]).catch(() => undefined), clock.sleep(RETRY_MS)]);
}

// Waits for active tasks. If the database is away after that, stops waiting after CLOSE_MS_MAX.
async function close(worker: TaskWorker, held: ReadonlyMap<string, Held>, clock: Clock): Promise<void> {
  const closed = new AbortController();
  const closing = worker.close().catch(() => undefined);
  void closing.then(() => closed.abort());
  for (let idleMs = 0; idleMs < CLOSE_MS_MAX && !closed.signal.aborted; idleMs += held.size > 0 ? 0 : RETRY_MS) {
    await clock.sleep(RETRY_MS, closed.signal).catch(() => undefined);
  }
}

interface Trouble {
  readonly report: (thrown: unknown) => void;
  readonly end: () => void;
}

// Reports the loss of the database once and its return once.
function createTrouble(say: WorkerParts['say'], toError: WorkerParts['toError']): Trouble {
  let isAway = false;
  return {
    report: (thrown) => {
      // A lost lease is handled by the event lockRenewalFailed.
      if (thrown instanceof Error && thrown.message.startsWith('could not renew lock')) return;
      const error = toError(thrown);
      const wasAway = isAway;
      isAway ||= error instanceof AwayError;
      if (isAway && wasAway) return;
      const detail = error.message.replace(/^ECONNREFUSED: /, '');
      const what = error instanceof AwayError ? error.what : '';
      say(isAway ? `The queue's database ${what} (${detail}); running tasks continue.` : `Queue error: ${detail}`);
    },
    end: () => {
      if (isAway) say("The queue's database answers again.");
      isAway = false;
    },
  };
}
