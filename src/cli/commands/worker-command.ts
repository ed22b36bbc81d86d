import { hostname } from 'node:os';
import { isatty } from 'node:tty';
import { systemClock } from '../../base/clock.ts';
import { loadRunnerSettings } from '../../base/config/config.ts';
import { EXIT, SightlineError } from '../../base/errors.ts';
import { runWorker } from '../../operations/jobs/run-worker.ts';
import type { JobLogger } from '../../operations/jobs/run-workspace-job.ts';
import { LOG_LEVELS, type LogLevel } from '../../serve/telemetry/server-log.ts';
import { readSurroundings, toInteger, type WorkspaceFlags } from '../context.ts';
import { printData } from '../output/output.ts';
import { openTerminalLog } from '../output/terminal-log.ts';
import { performTask } from '../worker-task.ts';
import { listWorkspaces } from '../worker-workspaces.ts';

/** Most tasks in parallel, because each sync has a warehouse open. */
const CONCURRENCY_MAX = 64;
const NAME = /^[\w.@-]{1,48}$/;

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
  const given = flags.dataDir === undefined ? {} : { dataDir: flags.dataDir };
  const workspaces = listWorkspaces(given, (sentence) => log('warn', { msg: sentence }));
  const tasks = await runWorker(settings, workspaces, {
    name,
    concurrency,
    once: flags.once === true,
    movesFolder: flags.moveFolder === true,
    signal,
    log,
    perform: (task, lease, find) => performTask(task, lease, { command: `worker ${name}`, flags: given, find, log }),
    onReload: onHangUp,
  }).finally(() => stream.flush());
  if (flags.json === true) printData(JSON.stringify({ worker: name, tasks }));
  return flags.once === true && signal.aborted ? EXIT.interrupted : EXIT.done;
}

// On a terminal SIGHUP means that the terminal was closed, and ends the worker like any other command.
function onHangUp(reload: () => void): () => void {
  if ([0, 1, 2].some((descriptor) => isatty(descriptor))) return () => undefined;
  const handlers = process.listeners('SIGHUP');
  for (const handler of handlers) process.off('SIGHUP', handler);
  process.on('SIGHUP', reload);
  return () => {
    process.off('SIGHUP', reload);
    for (const handler of handlers) process.on('SIGHUP', handler);
  };
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
