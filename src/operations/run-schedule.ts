import type { Clock } from '../base/clock.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { type Holder, tryLock } from '../base/file-lock.ts';
import { ensureWritableFolder } from '../base/files.ts';
import { openJobLog } from '../jobs/job-log.ts';
import { createProcessRunner } from '../jobs/process-runner.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { thisProcess } from '../workspace/process-driver.ts';
import type { Context } from '../workspace/workspace.ts';
import { plannedOf } from './cluster/open-runner.ts';
import { runTask } from './jobs/run-task.ts';
import type { JobLogger, PerformStep } from './jobs/run-workspace-job.ts';
import { notifyOfFreshness } from './notify/notify-of.ts';

/** Interval at which a waiting process checks whether the other has ended, and retries after errors. */
const LOOK_EVERY_MS = 60_000;
/** Interval of the checks for stale data and for messages that wait to be sent. */
const WATCH_EVERY_MS = 300_000;
/** Interval at which the replica of a workspace with a home is refreshed. */
const FOLLOW_EVERY_MS = 30_000;

/** Options of `startSchedule`. */
export interface ScheduleParts {
  /** Whether to run jobs when they are due. */
  readonly runsJobs: boolean;
  readonly perform: PerformStep;
  readonly log: JobLogger;
}

/** A process that runs the schedule of a workspace, or waits for the process that does. */
export interface RunningSchedule {
  /** The other process that ran the schedule at the start; null if this process did at once. */
  readonly other: Holder | null;
  /** Stops running work and resolves once it has ended. */
  close(): Promise<void>;
}

/**
 * Runs the schedule of a workspace: due jobs, notifications about stale data, and the replica of a workspace with a home. If another process does
 * so, takes over when that process ends.
 *
 * @throws `folder_unwritable`
 */
export async function startSchedule(context: Context, parts: ScheduleParts): Promise<RunningSchedule> {
  const { config, clock } = context;
  const stop = new AbortController();
  const { signal } = stop;
  await ensureWritableFolder(config.folder);
  const endServed = thisProcess.setServed(config.folder);
  const run = (): Promise<Taken> => takeSchedule({ ...context, signal }, parts);
  let taken = await run().catch((thrown: unknown) => {
    endServed();
    throw thrown;
  });
  const other = 'holder' in taken ? taken.holder : null;
  const takeOver = async (): Promise<void> => {
    while ('holder' in taken && !signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, signal, 'background');
      taken = await run();
      if (!('holder' in taken)) parts.log('info', { msg: 'this process now runs the jobs of the workspace' });
    }
  };
  const takenOver = repeatUntilStopped(takeOver, clock, signal, parts.log);
  const close = async (): Promise<void> => {
    stop.abort(new SightlineError('interrupted', 'stopped'));
    await takenOver;
    if (!('holder' in taken)) await taken.release();
    endServed();
  };
  return { other, close };
}

type Taken = { readonly holder: Holder } | { release(): Promise<void> };

async function takeSchedule(context: Context, parts: ScheduleParts): Promise<Taken> {
  const { config, clock, command, signal } = context;
  const { log } = parts;
  const taken = await tryLock(layoutOf(config.folder).scheduler, `sightline ${command}`);
  if ('holder' in taken) return taken;
  const work = [watch(context, log), follow(context, log)];
  if (parts.runsJobs) work.push(repeatUntilStopped(() => runDueJobs(context, parts), clock, signal, log));
  const release = async (): Promise<void> => {
    await Promise.all(work);
    await taken.lock.release();
  };
  return { release };
}

async function runDueJobs(context: Context, { perform, log }: ScheduleParts): Promise<void> {
  const { config, clock, command, signal } = context;
  const say = (sentence: string): void => log('warn', { msg: sentence });
  const runner = createProcessRunner({ jobLogOf: () => openJobLog(config.folder), clock, say });
  await runner.keepSchedules(plannedOf(config));
  const find = () => ({ config });
  await runner.work({
    name: command,
    concurrency: 1,
    signal,
    perform: (task, lease) => runTask(task, lease, { command, clock, isOwner: true, find, perform, log }),
  });
}

// Checks freshness periodically. Returns at once if no webhook is configured.
async function watch(context: Context, log: JobLogger): Promise<void> {
  const { config, clock, signal } = context;
  if (config.notify().length === 0) return;
  const onTrouble = (sentence: string): void => log('warn', { msg: sentence });
  while (!signal.aborted) {
    await notifyOfFreshness({ ...context, onTrouble });
    await clock.sleep(WATCH_EVERY_MS, signal, 'background').catch(() => undefined);
  }
}

// Refreshes the replica periodically, because other machines may have saved newer data.
async function follow({ config, clock, signal }: Context, log: JobLogger): Promise<void> {
  if (config.home === null) return;
  const { refreshReplica } = await import('../workspace/home-replica.ts');
  let isReported = false;
  while (!signal.aborted) {
    try {
      await refreshReplica({ config, clock });
      isReported = false;
    } catch (thrown) {
      // Log an outage once.
      if (!isReported) log('warn', { msg: toSightlineError(thrown).message });
      isReported = true;
    }
    await clock.sleep(FOLLOW_EVERY_MS, signal, 'background').catch(() => undefined);
  }
}

// Retries after an error, so that a temporary problem such as a full disk does not stop the jobs for good.
async function repeatUntilStopped(
  work: () => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
  log: JobLogger,
): Promise<void> {
  for (let isDone = false; !isDone && !signal.aborted;) {
    try {
      await work();
      isDone = true;
    } catch (thrown) {
      if (signal.aborted) return;
      log('error', { msg: toSightlineError(thrown).message });
      await clock.sleep(LOOK_EVERY_MS, signal, 'background').catch(() => undefined);
    }
  }
}
