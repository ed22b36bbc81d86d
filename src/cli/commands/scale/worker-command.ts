import { hostname } from 'node:os';
import { isatty } from 'node:tty';
import { EXIT } from '../../../base/errors.ts';
import type { JobLogger } from '../../../operations/jobs/run-workspace-job.ts';
import { printJson } from '../../output/output.ts';
import { terminal } from '../../output/terminal.ts';
import { dataOptions, logOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { flag, integer, option, refused, withDefault } from '../../program/option-kinds.ts';

/** Most tasks in parallel, because each sync has a warehouse open. */
const CONCURRENCY_MAX = 64;
const NAME = /^[\w.@-]{1,48}$/;

/** Without --once, `worker` runs until it is stopped. */
export const worker = defineCommand({
  options: {
    ...dataOptions,
    concurrency: withDefault(integer('<number>', 'workspaces processed in parallel', 1, CONCURRENCY_MAX), '4'),
    name: option('<name>', 'name of this worker (default: host and process)', toName),
    moveFolder: flag('record this data folder as the one with the local warehouses, replacing the recorded one'),
    once: flag('exit when no job is waiting, running or due within 10 seconds'),
    ...logOptions,
  },
  exits:
    '0 after it was stopped or all jobs were done; with `--once` 130 if it was stopped before. Failed jobs are in the log.',
  examples: [
    ['sightline worker', 'run the jobs of all workspaces'],
    ['sightline worker --concurrency 8 --once', 'run due jobs, 8 at a time, then exit'],
  ],
  run: async ({ concurrency, name: given, moveFolder, once, logLevel, ...unread }, begin) => {
    const { flags, json, signal } = begin(unread);
    const { loadRunnerSettings } = await import('../../../base/config/config.ts');
    const { listForWorker } = await import('../../../operations/cluster/workspace-list.ts');
    const { runWorker } = await import('../../../operations/jobs/run-worker.ts');
    const { readAllConfigs } = await import('../../checked-config.ts');
    const { readSurroundings } = await import('../../context.ts');
    const { openTerminalLog } = await import('../../output/terminal-log.ts');
    const { performTask } = await import('../../worker-task.ts');
    const name = given ?? `${hostname()}-${process.pid}`.replaceAll(/[^\w.@-]/g, '-').slice(-48);
    const settings = loadRunnerSettings(readSurroundings());
    const { logger, stream } = await openTerminalLog(logLevel, terminal().clock);
    const log: JobLogger = (level, entry) => logger[level](entry);
    const workspaces = listForWorker(
      () => readAllConfigs(flags),
      (sentence) => log('warn', { msg: sentence }),
    );
    const tasks = await runWorker(settings, workspaces, {
      name,
      concurrency,
      once,
      movesFolder: moveFolder,
      signal,
      log,
      perform: (task, lease, find) => performTask(task, lease, { command: `worker ${name}`, flags, find, log }),
      onReload: onHangUp,
    }).finally(() => stream.flush());
    if (json) printJson('worker', { worker: name, tasks });
    return once && signal.aborted ? EXIT.interrupted : EXIT.done;
  },
});

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

function toName(given: string, option: string): string {
  if (NAME.test(given)) return given;
  throw refused(option, given, 'letters, digits and _ . @ -, at most 48');
}
