import { randomUUID } from 'node:crypto';
import type { Job } from 'bullmq';
import { type Clock, systemClock } from '../base/clock.ts';
import { SightlineError } from '../base/errors.ts';
import type { QueueAddress } from '../base/runner-settings.ts';
import { openQueue, type QueueConnection, type TaskData } from './queue-connection.ts';
import { toQueueError, toRunnerError } from './queue-failure.ts';
import { readQueueState } from './queue-state.ts';
import { NEXT_MS_MAX } from './queue-task.ts';
import { FRESH_PRIORITY, LEASE_MS, workOnQueue } from './queue-worker.ts';
import type { Kept, Planned, Runner, WorkspaceJob } from './runner.ts';

/** Tasks and schedules that are written at a time. */
const BATCH = 500;
const SIDE_BY_SIDE = 4;
/** The field of the queue's metadata that names the data folder of local homes. */
const FOLDER_FIELD = 'sightline:folder';
/** A schedule whose next run should have begun so long ago may have lost it. */
const LATE_MS = 10 * 60_000;

/** How a shared queue is opened. */
export interface QueueRunnerOptions {
  readonly clock?: Clock;
  /** Whether it is waited for where it does not answer; default true. */
  readonly isPatient?: boolean;
  readonly signal?: AbortSignal;
  /** How long a task stays a worker's that says nothing more; default 20 seconds. */
  readonly leaseMs?: number;
  /** Told in a sentence what goes wrong and is gone on with. */
  readonly say?: (sentence: string) => void;
}

/**
 * Opens the queue that workers of any machine share. Throws `config_invalid` where a package is missing,
 * `queue_unreachable`, and the signal's reason.
 */
export async function openQueueRunner(address: QueueAddress, options: QueueRunnerOptions = {}): Promise<Runner> {
  const { clock = systemClock, say = () => undefined, isPatient = true, leaseMs = LEASE_MS, signal } = options;
  const connection = await openQueue(address, { clock, say, isPatient, ...(signal === undefined ? {} : { signal }) });
  const told = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      return await asked;
    } catch (thrown) {
      throw toRunnerError(thrown, address);
    }
  };
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();
  return {
    keepSchedules: (planned, { removes = true } = {}) => told(keepSchedules(connection, planned, removes, clock)),
    enqueue: (tasks) => told(enqueue(connection, tasks)),
    work: (work) => {
      const signal = AbortSignal.any([work.signal, closing.signal]);
      const toError = (thrown: unknown): Error => toQueueError(thrown, address);
      const ended = workOnQueue(connection, { ...work, signal }, { clock, say, leaseMs, toError });
      const tracked = ended.catch(() => undefined).finally(() => underWay.delete(tracked));
      underWay.add(tracked);
      return ended;
    },
    outstanding: (withinMs) => told(countOutstanding(connection, clock.now() + withinMs)),
    state: () => told(readQueueState(connection.queue, clock)),
    recordedFolder: () => told(connection.queue.getBackend().getQueueMetaField(FOLDER_FIELD)),
    recordFolder: (folder, replaces) => told(recordFolder(connection, folder, replaces)),
    // A queue whose connections are gone is asked for tasks without a pause by who still works on it.
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
  // Workers that write the same schedules lock their rows in the same order.
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

// Workers that begin at the same moment find the same schedules missing; what the queue says of it has no code of its own.
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
