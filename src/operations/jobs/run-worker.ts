import { setMaxListeners } from 'node:events';
import { systemClock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import type { RunnerSettings } from '../../base/config/runner-settings.ts';
import { SightlineError, toSightlineError } from '../../base/errors.ts';
import type { Lease, Planned, Runner, Task, TaskEnd } from '../../jobs/runner.ts';
import { openRunner } from '../cluster/open-runner.ts';
import { recordSharedFolder, rejectLocalWarehouses } from '../cluster/shared-folder.ts';
import type { FoundWorkspace } from './run-task.ts';
import type { JobLogger } from './run-workspace-job.ts';

/** Interval at which settings are reloaded and missing schedules are restored, in milliseconds. */
const READ_EVERY_MS = 60_000;
/** Wait before a failed registration of the schedules is retried, in milliseconds. */
const REGISTER_RETRY_MS = 5_000;
/** With `once`: interval of the check for remaining tasks, and how soon a due task counts as remaining, in milliseconds. */
const POLL_MS = 500;
const DUE_SOON_MS = 10_000;

/** All configured workspaces with the settings that were last read. */
export interface WorkspaceList {
  /** Number of workspaces, including those with invalid settings. */
  readonly count: number;
  /** Settings of the workspaces with valid settings. */
  configs(): readonly WorkspaceConfig[];
  find(workspace: string): FoundWorkspace | undefined;
  /** The enabled jobs of all workspaces. */
  planned(): readonly Planned[];
  /** Reads the settings again. Keeps the earlier settings if they cannot be read. Does not throw. */
  read(): void;
}

/** Options of `runWorker`. */
export interface WorkerOptions {
  readonly name: string;
  /** Most tasks in parallel. */
  readonly concurrency: number;
  /** Whether to end when no task is left. */
  readonly once: boolean;
  /** Whether to record the data folder of this worker as that of the queue. */
  readonly movesFolder: boolean;
  readonly signal: AbortSignal;
  readonly log: JobLogger;
  /** Runs a task with the settings that `find` returns. */
  perform(task: Task, lease: Lease, find: WorkspaceList['find']): Promise<TaskEnd>;
  /** Registers a function that reloads the settings at once, and returns a function that removes it. */
  onReload(reload: () => void): () => void;
}

/**
 * Runs due and queued jobs until the signal is aborted or, with `once`, until no task is left. Returns the number of ended tasks
 * by status.
 *
 * @throws `config_invalid` for a local warehouse with a shared queue and for another data folder, and `queue_unreachable`.
 */
export async function runWorker(
  settings: RunnerSettings,
  workspaces: WorkspaceList,
  { name, concurrency, once, movesFolder, signal, log, perform, onReload }: WorkerOptions,
): Promise<Readonly<Record<string, number>>> {
  const warn = (sentence: string): void => log('warn', { msg: sentence });
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
  const find = (workspace: string): FoundWorkspace | undefined => {
    const found = workspaces.find(workspace);
    const error = found !== undefined && 'config' in found ? rejectLocalWarehouses(settings, [found.config]) : null;
    return error === null ? found : { error };
  };
  const recordFolder = (moves: boolean): Promise<void> =>
    settings.kind === 'process' ? Promise.resolve() : recordSharedFolder(runner, workspaces.configs(), { moves });
  try {
    await recordFolder(movesFolder);
    const source = settings.kind === 'process' ? 'this process only' : `the queue of ${settings.urlVariable}`;
    const all = `${workspaces.count.toLocaleString('en-US')} ${workspaces.count === 1 ? 'workspace' : 'workspaces'}`;
    log('info', { msg: `worker ${name} runs jobs of ${all} from ${source}` });
    // Registering thousands of schedules takes a while. Start to work on waiting tasks meanwhile.
    const registered = registerAtStart(runner, workspaces, stopped, log);
    const watched = registered.then(() => watch(runner, workspaces, stopped, log, () => recordFolder(false), onReload));
    // If another data folder was recorded, the worker ends with that error.
    watched.catch(() => stop.abort(new SightlineError('interrupted', 'the data folder is not the recorded one')));
    const finished = once ? registered.then(() => stopWhenDone(runner, stop, stopped, warn)) : null;
    const work = runner.work({
      name,
      concurrency,
      signal: stopped,
      perform: async (task, lease) => {
        const end = await perform(task, lease, find);
        const status = end.kind === 'settled' ? end.status : 'put back';
        ended.set(status, (ended.get(status) ?? 0) + 1);
        return end;
      },
    });
    await Promise.all([work, watched, finished]);
  } finally {
    await runner.close();
  }
  return Object.fromEntries(ended);
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
  onReload: WorkerOptions['onReload'],
): Promise<void> {
  let before = fingerprintOf(workspaces.planned());
  let reload = new AbortController();
  const removeReload = onReload(() => reload.abort());
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
    removeReload();
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
  for (let idle = 0; idle < 2 && !signal.aborted;) {
    await systemClock.sleep(POLL_MS, signal).catch(() => undefined);
    const left = await runner.outstanding(DUE_SOON_MS).catch((thrown: unknown) => {
      warn(toSightlineError(thrown).message);
      return 1;
    });
    idle = left === 0 ? idle + 1 : 0;
  }
  stop.abort(new SightlineError('interrupted', 'all jobs are done'));
}
