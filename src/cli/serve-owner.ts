import { dirname } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { ownSettings, readEnvironment, type WorkspaceConfig } from '../base/config/config.ts';
import { EXIT, SightlineError, toSightlineError } from '../base/errors.ts';
import { jobsOf } from '../operations/jobs/job-list.ts';
import { runDueJob } from '../operations/jobs/run-workspace-job.ts';
import { notifyOfFreshness } from '../operations/notify/notify-of.ts';
import type { Job } from '../scheduler/job.ts';
import { openJobLog } from '../scheduler/job-log.ts';
import { keepSchedule } from '../scheduler/schedule.ts';
import { type LogLevel, type LogTarget, openLog } from '../serve/telemetry/server-log.ts';
import type { DigestSetting } from '../session/handshake.ts';
import { readOnlyReplicas } from '../session/newest-replica.ts';
import { folderIdOf } from '../session/owner-file.ts';
import { type Carry, claimWorkspace, type Lend } from '../session/owner-server.ts';
import { refreshReplica } from '../session/remote-session.ts';
import type { Carried, Greeting } from '../session/socket-frames.ts';
import { createTurns, type Turns } from '../session/turns.ts';
import type { Context } from '../session/workspace.ts';
import { readConfig, type WorkspaceFlags } from './context.ts';
import type { Parse } from './invocation.ts';
import { loggedSteps } from './job-steps.ts';
import { say } from './output/output.ts';
import { terminal, withTerminal } from './output/terminal.ts';
import { runArguments } from './run-arguments.ts';

/** Options of `ownWorkspace`. */
export interface OwnerOptions {
  /** Whether to run jobs when they are due. */
  readonly runsJobs: boolean;
  /** Parses the command lines of clients. */
  readonly parse: Parse;
  /** Level of the log that `ownWorkspace` opens on `log`. */
  readonly logLevel: LogLevel;
  readonly log: LogTarget;
}

/** A workspace that this process owns, or waits to own. The owner runs the jobs and the commands of clients. */
export interface Ownership {
  /** The other process that owned the workspace at the start; null if this process owned it at once. */
  readonly owner: Greeting | null;
  /** Stops running work and resolves once it has ended. */
  close(): Promise<void>;
}

/** Interval at which a process that waits checks whether the owner has ended. */
const LOOK_EVERY_MS = 60_000;
/** Interval of the checks for stale data and for messages that wait to be sent. */
const WATCH_EVERY_MS = 300_000;
/** Interval at which the replica of a remote warehouse is refreshed. */
const FOLLOW_EVERY_MS = 30_000;

type Log = (level: LogLevel, entry: Readonly<Record<string, unknown>>) => void;

/**
 * Makes this process the owner of a workspace. If another process owns it, takes over when that process ends, so that its jobs
 * continue to run.
 *
 * @throws `folder_unwritable` and `owner_untrusted`.
 */
export async function ownWorkspace(context: Context, flags: WorkspaceFlags, options: OwnerOptions): Promise<Ownership> {
  const { config, clock, command } = context;
  const stop = new AbortController();
  const turns = createTurns();
  const { logger, stream } = openLog(options.log, options.logLevel, clock);
  const log: Log = (level, entry) => logger[level](entry);
  const parts = { turns, stopped: stop.signal, log };
  const forOthers = { carry: createCarry({ ...parts, parse: options.parse, config }), lend: createLend(turns) };
  const own = async (): Promise<OwnedOrOther> => {
    const allowLiveReads = readOnlyReplicas(config.folder);
    const since = new Date(clock.now()).toISOString();
    const claim = await claimWorkspace({ folder: config.folder, command, since, forOthers }).catch(
      (thrown: unknown) => {
        allowLiveReads();
        throw thrown;
      },
    );
    if (!claim.isOurs) {
      allowLiveReads();
      return { owner: claim.owner };
    }
    const run = createRun(context, flags, parts);
    const schedule = { jobs: jobsOf(config), clock, signal: stop.signal, book: openJobLog(config.folder), run };
    const kept = options.runsJobs ? repeatUntilStopped(() => keepSchedule(schedule), clock, stop.signal, log) : null;
    const watched = watch(context, stop.signal, log);
    const followed = follow(context, stop.signal, log);
    const release = async (): Promise<void> => {
      await Promise.all([kept, watched, followed]);
      await claim.release();
      allowLiveReads();
    };
    return { owner: null, release };
  };
  let owned = await own();
  const { owner } = owned;
  const succeed = async (): Promise<void> => {
    while (owned.owner !== null && !stop.signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, stop.signal);
      owned = await own();
      if (owned.owner === null) log('info', { msg: 'this process now owns the workspace and runs its jobs' });
    }
  };
  const succeeded = repeatUntilStopped(succeed, clock, stop.signal, log);
  const close = async (): Promise<void> => {
    stop.abort(new SightlineError('interrupted', 'stopped'));
    await succeeded;
    if (owned.owner === null) await owned.release();
    stream.flush();
  };
  return { owner, close };
}

// Checks freshness periodically. Returns at once if no webhook is configured.
async function watch(context: Context, signal: AbortSignal, log: Log): Promise<void> {
  const { config, clock } = context;
  if (config.notify().length === 0) return;
  while (!signal.aborted) {
    const onTrouble = (sentence: string): void => log('warn', { msg: sentence });
    await notifyOfFreshness({ ...context, signal, onTrouble });
    await clock.sleep(WATCH_EVERY_MS, signal).catch(() => undefined);
  }
}

// Refreshes the replica periodically, because other machines may have checked in a newer one.
async function follow(context: Context, signal: AbortSignal, log: Log): Promise<void> {
  if (context.config.remote.kind === 'local') return;
  let isReported = false;
  while (!signal.aborted) {
    try {
      await refreshReplica(context);
      isReported = false;
    } catch (thrown) {
      // Log an outage once.
      if (!isReported) log('warn', { msg: toSightlineError(thrown).message });
      isReported = true;
    }
    await context.clock.sleep(FOLLOW_EVERY_MS, signal).catch(() => undefined);
  }
}

type OwnedOrOther = { readonly owner: Greeting } | { readonly owner: null; release(): Promise<void> };

// Retries after an error, so that a temporary problem such as a full disk does not stop the jobs for good.
async function repeatUntilStopped(
  work: () => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  for (let isDone = false; !isDone && !signal.aborted; ) {
    try {
      await work();
      isDone = true;
    } catch (thrown) {
      if (signal.aborted) return;
      log('error', { msg: toSightlineError(thrown).message });
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    }
  }
}

interface RunParts {
  readonly turns: Turns;
  readonly stopped: AbortSignal;
  readonly log: Log;
}

function createRun(context: Context, flags: WorkspaceFlags, { turns, stopped: signal, log }: RunParts) {
  const perform = loggedSteps(flags, log);
  return (job: Job, dueMs: number): Promise<void> =>
    runDueJob({ ...context, signal, command: `serve, job ${job.name}` }, job, dueMs, {
      perform,
      log,
      takeTurn: (work) => turns.take(`job ${job.name}`, signal, work),
    });
}

interface CarryParts extends RunParts {
  readonly parse: Parse;
  readonly config: WorkspaceConfig;
}

// Runs a client's command with the settings of this process. Settings that the client sets must have the same values.
function createCarry({ parse, config, turns, stopped, log }: CarryParts): Carry {
  const { folder, environment } = terminal();
  const choice = { SIGHTLINE_WORKSPACE: config.name, SIGHTLINE_DATA_DIR: dirname(config.folder) };
  return async (command, output, cancelled, digest) => {
    const signal = AbortSignal.any([stopped, cancelled]);
    const { arguments: argv, settings, timeZone } = command;
    const own = { ...(environment ?? readEnvironment(folder)), ...choice };
    const differs = differingSettings(settings, ownSettings({ environment: own, folder }), digest);
    if (differs.length > 0) return { differs };
    return withTerminal({ ...output, isCarried: true, folder, environment: own, timeZone }, async () => {
      const exitCode = await runArguments(parse, argv, async ({ action, carried }) => {
        if (carried === null)
          throw new SightlineError(
            'usage',
            `the owner of the workspace does not run \`${argv[0]}\` for other processes`,
          );
        const asked = readConfig(carried.flags);
        if (asked.folder !== config.folder && (await folderIdOf(asked.folder)) !== (await folderIdOf(config.folder))) {
          throw new SightlineError(
            'usage',
            `the folder is ${asked.folder}; allowed: ${config.folder}, which this process serves`,
          );
        }
        if (!carried.needsWarehouse) return action(signal);
        const wait = (current: string): void => say(`Waiting for ${current}, which is using the warehouse.`);
        return turns.take(`\`sightline ${argv[0]}\``, signal, () => action(signal), wait);
      });
      log(exitCode === EXIT.failed ? 'info' : 'debug', { msg: `ran sightline ${argv[0]} for a client`, exitCode });
      return exitCode;
    });
  };
}

/** Names of the client's settings that this process lacks or sets to another value. The client may set fewer. */
function differingSettings(
  digests: Carried['settings'],
  own: Readonly<Record<string, string>>,
  digest: DigestSetting,
): string[] {
  return Object.keys(digests)
    .filter((name) => !Object.hasOwn(own, name) || digest(name, own[name] as string) !== digests[name])
    .sort();
}

function createLend(turns: Turns): Lend {
  return async (command, work, onWait, signal) => {
    // A client that no longer waits gets no response.
    await turns.take(`\`sightline ${command}\``, signal, work, onWait).catch(() => undefined);
  };
}
