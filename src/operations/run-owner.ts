import type { Clock } from '../base/clock.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import { openJobLog } from '../scheduler/job-log.ts';
import { createProcessRunner } from '../scheduler/process-runner.ts';
import { becomeOwner, type RunForwarded } from '../session/owner-server.ts';
import { thisProcess } from '../session/process-driver.ts';
import { refreshReplica } from '../session/remote-replica.ts';
import type { Greeting } from '../session/socket-frames.ts';
import type { Context } from '../session/workspace.ts';
import { plannedOf } from './cluster/open-runner.ts';
import { runTask } from './jobs/run-task.ts';
import type { JobLogger, PerformStep } from './jobs/run-workspace-job.ts';
import { notifyOfFreshness } from './notify/notify-of.ts';

/** Interval at which a process that waits checks whether the owner has ended, and retries after errors. */
const LOOK_EVERY_MS = 60_000;
/** Interval of the checks for stale data and for messages that wait to be sent. */
const WATCH_EVERY_MS = 300_000;
/** Interval at which the replica of a remote warehouse is refreshed. */
const FOLLOW_EVERY_MS = 30_000;

/** Options of `startOwner`. */
export interface OwnerParts {
  /** Whether to run jobs when they are due. */
  readonly runsJobs: boolean;
  readonly perform: PerformStep;
  /** Runs the command line of a client. The signal is also aborted by `RunningOwner.close`. */
  readonly run: RunForwarded;
  readonly log: JobLogger;
}

/** A process that owns a workspace, or waits to own it. */
export interface RunningOwner {
  /** The other process that owned the workspace at the start; null if this process owned it at once. */
  readonly owner: Greeting | null;
  /** Stops running work and resolves once it has ended. */
  close(): Promise<void>;
}

/**
 * Makes this process the owner of a workspace: it runs due jobs and the commands of clients, notifies of stale data and refreshes
 * the replica of a remote warehouse. If another process owns the workspace, takes over when that process ends.
 *
 * @throws `folder_unwritable` and `owner_untrusted`.
 */
export async function startOwner(context: Context, parts: OwnerParts): Promise<RunningOwner> {
  const { clock } = context;
  const { log } = parts;
  const stop = new AbortController();
  const { signal } = stop;
  const own = (): Promise<Owned> => tryToOwn({ ...context, signal }, parts);
  let owned = await own();
  const { owner } = owned;
  const takeOver = async (): Promise<void> => {
    while (owned.owner !== null && !signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, signal, 'background');
      owned = await own();
      if (owned.owner === null) log('info', { msg: 'this process now owns the workspace and runs its jobs' });
    }
  };
  const takenOver = repeatUntilStopped(takeOver, clock, signal, log);
  const close = async (): Promise<void> => {
    stop.abort(new SightlineError('interrupted', 'stopped'));
    await takenOver;
    if (owned.owner === null) await owned.release();
  };
  return { owner, close };
}

type Owned = { readonly owner: Greeting } | { readonly owner: null; release(): Promise<void> };

async function tryToOwn(context: Context, parts: OwnerParts): Promise<Owned> {
  const { config, clock, command, signal } = context;
  const { folder } = config;
  const { log } = parts;
  const endServed = thisProcess.setServed(folder);
  const run: RunForwarded = (forwarded, output, cancelled, digest) =>
    parts.run(forwarded, output, AbortSignal.any([signal, cancelled]), digest);
  const since = new Date(clock.now()).toISOString();
  try {
    const ownership = await becomeOwner({ folder, command, since, run, sessions: thisProcess });
    if (!ownership.isOurs) {
      endServed();
      return { owner: ownership.owner };
    }
    const work = [watch(context, log), follow(context, log)];
    if (parts.runsJobs) work.push(repeatUntilStopped(() => runDueJobs(context, parts), clock, signal, log));
    const release = async (): Promise<void> => {
      await Promise.all(work);
      await ownership.release();
      endServed();
    };
    return { owner: null, release };
  } catch (thrown) {
    endServed();
    throw thrown;
  }
}

async function runDueJobs(context: Context, { perform, log }: OwnerParts): Promise<void> {
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

// Refreshes the replica periodically, because other machines may have checked in a newer one.
async function follow({ config, clock, signal }: Context, log: JobLogger): Promise<void> {
  if (config.remote.kind === 'local') return;
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
