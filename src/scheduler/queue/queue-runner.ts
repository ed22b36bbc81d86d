import { randomUUID } from 'node:crypto';
import type { Job } from 'bullmq';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { QueueAddress } from '../../base/config/runner-settings.ts';
import { SightlineError } from '../../base/errors.ts';
import type { Kept, Planned, Runner, WorkspaceJob } from '../runner.ts';
import { openQueue, type QueueConnection, type TaskData } from './queue-connection.ts';
import { toQueueError, toRunnerError } from './queue-failure.ts';
import { readQueueState } from './queue-state.ts';
import { NEXT_MS_MAX } from './queue-task.ts';
import { FRESH_PRIORITY, LEASE_MS, workOnQueue } from './queue-worker.ts';

/** Tasks written in one batch, and schedules written at the same time. */
const BATCH = 500;
const SIDE_BY_SIDE = 4;
/** The field of the queue's metadata that names the data folder of local warehouses. */
const FOLDER_FIELD = 'sightline:folder';
/** A schedule whose next run is this late may have lost it. */
const LATE_MS = 10 * 60_000;

/** Options of `openQueueRunner`. */
export interface QueueRunnerOptions {
  readonly clock?: Clock;
  /** If true, retries while the database does not answer. Default true. */
  readonly isPatient?: boolean;
  readonly signal?: AbortSignal;
  /** Lifetime of a lease that is not renewed; default 20 seconds. */
  readonly leaseMs?: number;
  /** Receives warnings about problems that do not end the work, each as a sentence. */
  readonly say?: (sentence: string) => void;
}

/**
 * Opens the queue that workers on several machines share.
 * @throws `config_invalid` if a package is not installed, `queue_unreachable`, or the signal's reason
 */
export async function openQueueRunner(address: QueueAddress, options: QueueRunnerOptions = {}): Promise<Runner> {
  const { clock = systemClock, say = () => undefined, isPatient = true, leaseMs = LEASE_MS, signal } = options;
  const connection = await openQueue(address, { clock, say, isPatient, ...(signal === undefined ? {} : { signal }) });
  const withRunnerErrors = async <T>(call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (thrown) {
      throw toRunnerError(thrown, address);
    }
  };
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();
  return {
    keepSchedules: (planned, { removes = true } = {}) =>
      withRunnerErrors(keepSchedules(connection, planned, removes, clock)),
    enqueue: (tasks) => withRunnerErrors(enqueue(connection, tasks)),
    work: (work) => {
      const signal = AbortSignal.any([work.signal, closing.signal]);
      const toError = (thrown: unknown): Error => toQueueError(thrown, address);
      const ended = workOnQueue(connection, { ...work, signal }, { clock, say, leaseMs, toError });
      const tracked = ended.catch(() => undefined).finally(() => underWay.delete(tracked));
      underWay.add(tracked);
      return ended;
    },
    outstanding: (withinMs) => withRunnerErrors(countOutstanding(connection, clock.now() + withinMs)),
    state: () => withRunnerErrors(readQueueState(connection.queue, clock)),
    recordedFolder: () => withRunnerErrors(connection.queue.getBackend().getQueueMetaField(FOLDER_FIELD)),
    recordFolder: (folder, replaces) => withRunnerErrors(recordFolder(connection, folder, replaces)),
    // Stop the workers before the connections close: a worker without a connection polls without a pause.
    close: async () => {
      closing.abort(new SightlineError('interrupted', 'the queue is closed'));
      await Promise.all(underWay);
      await connection.close();
    },
  };
}

// The id contains everything a schedule consists of, so two schedules are equal if their ids are.
function idOf({ workspace, job }: Planned): string {
  return [workspace, job.name, job.cron.text, job.timeZone, `priority ${FRESH_PRIORITY}`].join('/');
}

async function keepSchedules(
  { queue }: QueueConnection,
  planned: readonly Planned[],
  removes: boolean,
  clock: Clock,
): Promise<Kept> {
  const wanted = new Map(planned.map((one) => [idOf(one), one]));
  const listed = await queue.getBackend().getJobSchedulersRange(0, -1, true);
  const kept = new Map<string, number>();
  for (let index = 0; index < listed.length; index += 2) kept.set(listed[index] ?? '', Number(listed[index + 1]));
  const gone = removes ? [...kept.keys()].filter((id) => !wanted.has(id)) : [];
  const missing = [...wanted].filter(([id]) => !kept.has(id));
  const late = [...wanted].filter(([id]) => (kept.get(id) ?? Number.POSITIVE_INFINITY) < clock.now() - LATE_MS);
  const lost = [...wanted].filter(([id]) => kept.has(id) && !(Number(kept.get(id)) < clock.now() + NEXT_MS_MAX));
  await eachOf(late, async (one) => {
    if ((await queue.getJob(`repeat:${one[0]}:${kept.get(one[0])}`)) === undefined) lost.push(one);
  });
  // A fixed order, so that workers that write the same schedules lock their rows in the same order.
  const written = [...missing, ...lost].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  await eachOf(written, async ([id, { workspace, job }]) => {
    const repeat = { pattern: job.cron.text, tz: job.timeZone };
    const template = { name: job.name, data: { workspace, job: job.name }, opts: { priority: FRESH_PRIORITY } };
    await queue.upsertJobScheduler(id, repeat, template).catch((thrown: unknown) => {
      if (!isMadeByOther(thrown)) throw thrown;
    });
  });
  await eachOf(gone.sort(), async (id) => void (await queue.removeJobScheduler(id)));
  return { added: missing.length + lost.length, removed: gone.length };
}

// Workers that start together add the same schedules. BullMQ's error for that has no code.
function isMadeByOther(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message.includes('job ID already exists');
}

async function enqueue({ queue }: QueueConnection, tasks: readonly WorkspaceJob[]): Promise<number> {
  let fresh = 0;
  for (let from = 0; from < tasks.length; from += BATCH) {
    const entries = tasks.slice(from, from + BATCH).map(({ workspace, job }) => ({
      name: job,
      data: { workspace, job },
      opts: {
        jobId: randomUUID(),
        priority: FRESH_PRIORITY,
        deduplication: { id: `${workspace}/${job}`, keepLastIfActive: true },
      },
    }));
    const added: Job<TaskData, string, string>[] = await queue.addBulk(entries);
    fresh += added.filter(({ id }, index) => id === entries[index]?.opts.jobId).length;
  }
  return fresh;
}

async function countOutstanding({ queue }: QueueConnection, untilMs: number): Promise<number> {
  const counts = await queue.getBackend().getCounts(['waiting', 'prioritized', 'active', 'delayed'], untilMs);
  return counts.reduce((sum, count) => sum + count, 0);
}

async function recordFolder({ queue, database }: QueueConnection, folder: string, replaces: boolean): Promise<string> {
  const backend = queue.getBackend();
  if (replaces) await backend.setQueueMeta({ [FOLDER_FIELD]: folder });
  else await database.setIfAbsent(FOLDER_FIELD, folder);
  return (await backend.getQueueMetaField(FOLDER_FIELD)) ?? folder;
}

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const lane = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
}
