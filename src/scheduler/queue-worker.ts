import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import type { QueueConnection, TaskQueue, TaskWorker } from './queue-connection.ts';
import type { LeaseKey } from './queue-database.ts';
import { AwayError } from './queue-failure.ts';
import { namesOf, type TaskJob, toTask } from './queue-task.ts';
import { ENDED_MAX, type TaskEnd, type WorkOptions } from './runner.ts';

/** How long a task stays a worker's that says nothing more. */
export const LEASE_MS = 20_000;
/** How often a living one renews its leases, and looks for those of others that have run out, in a lease's time. */
const LOOKS = 4;
/** The queue gives up tasks whose workers were lost so often; a task is not to blame for that. */
const LOST_MAX = 1_000_000;
/** How long a task is gone on with while the database cannot be asked whose it is. */
const UNSURE_MS_MAX = 3 * 60_000;
/** Wait for a task where none is due, in seconds; a new one ends it. */
const DRAINED_SECONDS = 60;
const RETRY_MS = 1_000;
/**
 * The priority of a task that was never begun, and of one that was: those with the lower number come first. A task that comes back
 * is therefore performed before all that only wait, whatever the database does with its place in the queue.
 */
export const FRESH_PRIORITY = 1;
const BEGUN_PRIORITY = 0;
/** Wait of a task that comes back to a worker which has not done with it. */
const AGAIN_MS = 3_000;
/** How often a worker says that it is there. */
export const SEEN_EVERY_MS = 5_000;
/** How long the end may take where the database is away. */
const CLOSE_MS_MAX = 10_000;

/** What stands before a worker's name among what is kept about the queue. */
export const WORKER_PREFIX = 'worker:';

/** Names of workers and machines that may be shown in a terminal. */
export const PRINTABLE = /^[\x20-\x7e]{1,255}$/;
const printable = z.string().regex(PRINTABLE);
const time = z.iso.datetime();
/** What a worker writes about itself. */
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
/** What a worker writes about itself. */
export type WrittenWorker = Readonly<z.infer<typeof writtenWorkerSchema>>;

const TAKEN_OVER = 'another worker has taken the task over';

interface Held {
  readonly job: TaskJob;
  readonly key: LeaseKey;
  readonly stop: AbortController;
  isLost: boolean;
  renewedMs: number;
}

/** What a worker is made with. */
export interface WorkerParts {
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly say: (sentence: string) => void;
  /** What the driver threw, without what it was given. */
  readonly toError: (thrown: unknown) => Error;
}

/** Works off the queue until the signal is aborted and all leases have ended. */
export async function workOnQueue(
  { queue, database, createWorker }: QueueConnection,
  options: WorkOptions,
  { clock, say, leaseMs, toError }: WorkerParts,
): Promise<void> {
  const { signal, name, concurrency } = options;
  const { DelayedError, WaitingError } = await import('bullmq');
  const held = new Map<string, Held>();
  const perform = async (job: TaskJob, token = ''): Promise<string> => {
    const id = job.id ?? '';
    const key = { id, token, attempt: job.attemptsStarted };
    const lease: Held = { job, key, stop: new AbortController(), isLost: false, renewedMs: clock.monotonic() };
    // It was lost here, has come back, and is still being ended.
    if (held.has(id)) {
      await putBack(job, token, signal.aborted ? 0 : AGAIN_MS, lease, clock, signal);
      throw signal.aborted ? new WaitingError() : new DelayedError();
    }
    held.set(id, lease);
    void markBegun(lease);
    try {
      const end = await performOne(job, lease, options, clock);
      await renewExpired(lease).catch(() => undefined);
      // Another worker has the task now and settles it.
      if (lease.isLost) throw new WaitingError();
      if (end.kind === 'settled') return end.status;
      await putBack(job, token, signal.aborted ? 0 : end.afterMs, lease, clock, signal);
      throw end.afterMs === 0 || signal.aborted ? new WaitingError() : new DelayedError();
    } finally {
      held.delete(id);
    }
  };
  const leasesOf = (ids: readonly string[]): Held[] => ids.flatMap((id) => held.get(id) ?? []);
  const renewExpired = async (lease: Held): Promise<void> => {
    if (database.renewExpired === null || lease.isLost) return;
    const isRenewed = await database.renewExpired(lease.key, leaseMs);
    if (isRenewed) lease.renewedMs = clock.monotonic();
    else lose(lease, TAKEN_OVER);
  };
  const trouble = createTrouble(say, toError);
  const worker = await createWorker(perform, {
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
  worker.on('error', trouble.tell);
  worker.on('failed', (job, { message }) => {
    const names = job === undefined ? null : namesOf(job);
    say(names === null ? message : `job ${names.job} of ${names.workspace} failed: ${message}`);
  });
  worker.on('lockRenewalFailed', (ids) => {
    for (const lease of leasesOf(ids)) {
      if (database.renewExpired === null) lose(lease, TAKEN_OVER);
      else void renewExpired(lease).catch(trouble.tell);
    }
  });
  worker.on('locksRenewed', ({ jobIds }) => {
    trouble.end();
    for (const lease of leasesOf(jobIds)) {
      lease.renewedMs = clock.monotonic();
      void markBegun(lease);
    }
  });
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
  const tellStop = (): void => {
    for (const { stop } of held.values()) stop.abort(signal.reason);
  };
  signal.addEventListener('abort', tellStop, { once: true });
  const presence = keepPresent(queue, { name, concurrency, held, clock, signal, onSeen: trouble.end });
  const run = worker.run().catch(trouble.tell);
  await stopped;
  await close(worker, held, clock);
  await Promise.all([run, presence]);
}

async function performOne(job: TaskJob, lease: Held, options: WorkOptions, clock: Clock): Promise<TaskEnd> {
  try {
    if (options.signal.aborted) return { kind: 'put back', afterMs: 0 };
    return await options.perform(toTask(job, clock.now()), { signal: lease.stop.signal });
  } catch (thrown) {
    // What was stopped has not failed.
    if (lease.isLost || options.signal.aborted) return { kind: 'put back', afterMs: 0 };
    throw thrown;
  }
}

// Tried again when the lease is renewed, if the database does not answer now.
async function markBegun({ job }: Held): Promise<void> {
  if (job.priority === BEGUN_PRIORITY) return;
  await job.changePriority({ priority: BEGUN_PRIORITY }).catch(() => undefined);
}

function lose(lease: Held | undefined, why: string): void {
  if (lease === undefined) return;
  lease.isLost = true;
  lease.stop.abort(new SightlineError('interrupted', why));
}

// Again and again while the database is away: a task that was not put back would have failed. Who is to stop tries once
// more; then the lease runs out by itself.
async function putBack(
  job: TaskJob,
  token: string | undefined,
  afterMs: number,
  lease: Held,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (let isLast = false; !lease.isLost; ) {
    try {
      if (afterMs === 0) await job.moveToWait(token);
      else await job.moveToDelayed(clock.now() + afterMs, token);
      return;
    } catch (thrown) {
      // It is not this worker's any more.
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

// Says that the worker is there, and with what; and stops tasks of which nobody could say for minutes whose they are.
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
      if (clock.monotonic() - lease.renewedMs > UNSURE_MS_MAX) lose(lease, 'the queue could not be asked for minutes');
    }
    const renewed = Object.fromEntries([...held].map(([id, { renewedMs }]) => [id, agoToIso(renewedMs)]));
    const seen = new Date(clock.now()).toISOString();
    const written: WrittenWorker = { name, host: hostname(), pid: process.pid, since, seen, concurrency, renewed };
    await backend.setQueueMeta({ [field]: JSON.stringify(written) }).then(onSeen, () => undefined);
    await clock.sleep(SEEN_EVERY_MS, signal).catch(() => undefined);
  }
  await Promise.race([backend.removeQueueMetaFields([field]).catch(() => undefined), clock.sleep(RETRY_MS)]);
}

// Ends once what was under way has; where the database is away after that nobody waits for it for ever.
async function close(worker: TaskWorker, held: ReadonlyMap<string, Held>, clock: Clock): Promise<void> {
  const closed = new AbortController();
  const closing = worker.close().catch(() => undefined);
  void closing.then(() => closed.abort());
  for (let idleMs = 0; idleMs < CLOSE_MS_MAX && !closed.signal.aborted; idleMs += held.size > 0 ? 0 : RETRY_MS) {
    await clock.sleep(RETRY_MS, closed.signal).catch(() => undefined);
  }
}

// Says once that the database is away, and once that it is back.
function createTrouble(say: WorkerParts['say'], toError: WorkerParts['toError']) {
  let isAway = false;
  return {
    tell: (thrown: unknown): void => {
      // That a lease was lost is known, and acted on.
      if (thrown instanceof Error && thrown.message.startsWith('could not renew lock')) return;
      const error = toError(thrown);
      const wasAway = isAway;
      isAway ||= error instanceof AwayError;
      if (isAway && wasAway) return;
      const said = error.message.replace(/^ECONNREFUSED: /, '');
      const what = error instanceof AwayError ? error.what : '';
      say(isAway ? `The queue's database ${what} (${said}); what is under way goes on.` : `The queue: ${said}`);
    },
    end: (): void => {
      if (isAway) say("The queue's database answers again.");
      isAway = false;
    },
  };
}
