import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { isatty } from 'node:tty';
import { systemClock } from '../../base/clock.ts';
import { loadRunnerSettings } from '../../base/config/config.ts';
import { EXIT, SightlineError, toSightlineError } from '../../base/errors.ts';
import { openRunner } from '../../operations/cluster/open-runner.ts';
import { claimSharedFolder, rejectLocalWarehouses } from '../../operations/cluster/shared-folder.ts';
import type { JobLogger } from '../../operations/jobs/run-workspace-job.ts';
import type { Planned, Runner } from '../../scheduler/runner.ts';
import { LOG_LEVELS, type LogLevel } from '../../serve/telemetry/server-log.ts';
import { type Configured, readSurroundings, toInteger, type WorkspaceFlags } from '../context.ts';
import { plural, printData } from '../output/output.ts';
import { openTerminalLog } from '../output/terminal-log.ts';
import { performTask } from '../worker-task.ts';
import { listWorkspaces, type WorkspaceList } from '../worker-workspaces.ts';

/** Most tasks in parallel, because each sync has a warehouse open. */
const CONCURRENCY_MAX = 64;
const NAME = /^[\w.@-]{1,48}$/;
/** Interval at which settings are reloaded and missing schedules are restored, in milliseconds. */
const READ_EVERY_MS = 60_000;
/** Wait before a failed registration of the schedules is retried, in milliseconds. */
const REGISTER_RETRY_MS = 5_000;
/** With --once: interval of the check for remaining tasks, and how soon a due task counts as remaining, in milliseconds. */
const POLL_MS = 500;
const DUE_SOON_MS = 10_000;

/** Flags of `worker`. */
export interface WorkerFlags extends Pick<WorkspaceFlags, 'dataDir' | 'json'> {
  readonly concurrency: string;
  readonly name?: string;
  readonly once?: boolean;
  readonly moveFolder?: boolean;
  readonly logLevel: string;
}

/** Runs `sightline worker` until the signal is aborted or, with --once, until no task is left. Returns its exit code. */
export async function worker(flags: WorkerFlags, signal: AbortSignal): Promise<number> {
  const concurrency = toInteger('--concurrency', flags.concurrency, 1, CONCURRENCY_MAX);
  const name = toName(flags.name);
  const settings = loadRunnerSettings(readSurroundings());
  const { logger, stream } = await openTerminalLog(toLevel(flags.logLevel), systemClock);
  const log: JobLogger = (level, entry) => logger[level](entry);
  const warn = (sentence: string): void => log('warn', { msg: sentence });
  const given = flags.dataDir === undefined ? {} : { dataDir: flags.dataDir };
  const workspaces = listWorkspaces(given, warn);
  const rejected = rejectLocalWarehouses(settings, workspaces.configs());
  if (rejected !== null) throw rejected;
  const folderOf = (workspace: string): string => {
    const found = workspaces.find(workspace);
    return found !== undefined && 'config' in found ? found.config.folder : '';
  };
  const runner = await openRunner(settings, { folderOf, isPatient: true, signal, say: warn });
  const stop = new AbortController();
  const stopped = AbortSignal.any([signal, stop.signal]);
  setMaxListeners(0, stopped);
  const ended = new Map<string, number>();
  // Reloaded settings may contain a new workspace with a local warehouse, so check it before each task.
  const find = (workspace: string): Configured | undefined => {
    const found = workspaces.find(workspace);
    const error = found !== undefined && 'config' in found ? rejectLocalWarehouses(settings, [found.config]) : null;
    return error === null ? found : { name: workspace, error };
  };
  const parts = { command: `worker ${name}`, flags: given, find, log };
  const claimFolder = (moves: boolean): Promise<void> =>
    settings.kind === 'process' ? Promise.resolve() : claimSharedFolder(runner, workspaces.configs(), { moves });
  try {
    await claimFolder(flags.moveFolder === true);
    const source = settings.kind === 'process' ? 'this process only' : `the queue of ${settings.urlVariable}`;
    log('info', { msg: `worker ${name} runs jobs of ${plural(workspaces.count, 'workspace')} from ${source}` });
    // Registering thousands of schedules takes a while. Start to work on waiting tasks meanwhile.
    const registered = registerAtStart(runner, workspaces, stopped, log);
    const watched = registered.then(() => watch(runner, workspaces, stopped, log, () => claimFolder(false)));
    // If another data folder was recorded, the worker ends with that error.
    watched.catch(() => stop.abort(new SightlineError('interrupted', 'the data folder is not the recorded one')));
    const finished = flags.once === true ? registered.then(() => stopWhenDone(runner, stop, stopped, warn)) : null;
    const work = runner.work({
      name,
      concurrency,
      signal: stopped,
      perform: async (task, lease) => {
        const end = await performTask(task, lease, parts);
        const status = end.kind === 'settled' ? end.status : 'put back';
        ended.set(status, (ended.get(status) ?? 0) + 1);
        return end;
      },
    });
    await Promise.all([work, watched, finished]);
  } finally {
    await runner.close();
    stream.flush();
  }
  if (flags.json === true) printData(JSON.stringify({ worker: name, tasks: Object.fromEntries(ended) }));
  return flags.once === true && signal.aborted ? EXIT.interrupted : EXIT.done;
}

// Retries, because workers that start at the same time may conflict. Runs in the background.
async function registerAtStart(
  runner: Runner,
  workspaces: WorkspaceList,
  signal: AbortSignal,
  log: JobLogger,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await registerSchedules(runner, workspaces.planned(), log);
      return;
    } catch (thrown) {
      log('warn', { msg: `cannot register the schedules, will retry: ${toSightlineError(thrown).message}` });
      await systemClock.sleep(REGISTER_RETRY_MS, signal).catch(() => undefined);
    }
  }
}

async function registerSchedules(
  runner: Runner,
  planned: readonly Planned[],
  log: JobLogger,
  options: { readonly removes?: boolean } = {},
): Promise<void> {
  const { added, removed } = await runner.keepSchedules(planned, options);
  if (added + removed > 0) log('info', { msg: `schedules: ${added} added, ${removed} removed`, added, removed });
}

// Removes schedules only after reading changed settings, so that a worker with older settings does not remove newer schedules.
async function watch(
  runner: Runner,
  workspaces: WorkspaceList,
  signal: AbortSignal,
  log: JobLogger,
  checkFolder: () => Promise<void>,
): Promise<void> {
  let before = fingerprintOf(workspaces.planned());
  let reload = new AbortController();
  const readNow = (): void => reload.abort();
  // On a terminal SIGHUP means that the terminal was closed, and ends the worker like any other command.
  const isOnTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  const handlers = isOnTerminal ? [] : process.listeners('SIGHUP');
  for (const handler of handlers) process.off('SIGHUP', handler);
  if (!isOnTerminal) process.on('SIGHUP', readNow);
  try {
    while (!signal.aborted) {
      await systemClock.sleep(READ_EVERY_MS, AbortSignal.any([signal, reload.signal])).catch(() => undefined);
      if (signal.aborted) return;
      reload = new AbortController();
      workspaces.read();
      await checkFolder().catch((thrown: unknown) => {
        const error = toSightlineError(thrown);
        if (error.code === 'config_invalid') throw error;
        log('warn', { msg: error.message });
      });
      const planned = workspaces.planned();
      const now = fingerprintOf(planned);
      await registerSchedules(runner, planned, log, { removes: now !== before }).then(
        () => {
          before = now;
        },
        (thrown: unknown) => log('warn', { msg: toSightlineError(thrown).message }),
      );
    }
  } finally {
    process.off('SIGHUP', readNow);
    for (const handler of handlers) process.on('SIGHUP', handler);
  }
}

function fingerprintOf(planned: readonly Planned[]): string {
  return JSON.stringify(planned.map(({ workspace, job }) => [workspace, job.name, job.cron.text, job.timeZone]));
}

// Requires two idle checks in a row, because a task that moves between states may be missing from both counts.
async function stopWhenDone(
  runner: Runner,
  stop: AbortController,
  signal: AbortSignal,
  warn: (sentence: string) => void,
): Promise<void> {
  for (let idle = 0; idle < 2 && !signal.aborted; ) {
    await systemClock.sleep(POLL_MS, signal).catch(() => undefined);
    const left = await runner.outstanding(DUE_SOON_MS).catch((thrown: unknown) => {
      warn(toSightlineError(thrown).message);
      return 1;
    });
    idle = left === 0 ? idle + 1 : 0;
  }
  stop.abort(new SightlineError('interrupted', 'all jobs are done'));
}

function toName(given: string | undefined): string {
  const name = given ?? `${hostname()}-${process.pid}`.replaceAll(/[^\w.@-]/g, '-').slice(-48);
  if (NAME.test(name)) return name;
  const allowed = 'letters, digits and _ . @ -, at most 48';
  throw new SightlineError('usage', `--name is ${JSON.stringify(given)}; allowed: ${allowed}`);
}

function toLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (level !== undefined) return level;
  throw new SightlineError('usage', `--log-level is ${JSON.stringify(text)}; allowed: ${LOG_LEVELS.join(', ')}`);
}
