import type { Ending } from '../../base/ending.ts';
import { toSightlineError } from '../../base/errors.ts';
import type { Job, Step } from '../../scheduler/job.ts';
import { type JobRun, openJobLog } from '../../scheduler/job-log.ts';
import { runJob } from '../../scheduler/run-job.ts';
import { withRemote } from '../../session/remote-session.ts';
import type { Context } from '../../session/workspace.ts';
import { notifyOfJob } from '../notify/notify-of.ts';
import { runAlone } from './run-alone.ts';

/** Runs a step of a job of a workspace and renders its result. Must not throw. */
export type PerformStep = (workspace: string, job: string, step: Step, signal: AbortSignal) => Promise<Ending>;

/** Writes a log entry. */
export type JobLogger = (level: 'info' | 'warn' | 'error', entry: Readonly<Record<string, unknown>>) => void;

/**
 * Runs a job that a user requested, records the run and notifies the webhooks. `isOwner` states that this process owns the
 * workspace already.
 *
 * @throws `warehouse_locked` if another process owns the workspace, and the errors of `withRemote`.
 */
export function runRequestedJob(
  context: Context,
  job: Job,
  { perform, isOwner }: { readonly perform: PerformStep; readonly isOwner: boolean },
): Promise<JobRun> {
  const { config, clock, command } = context;
  const work = (): Promise<JobRun> =>
    withRemote(context, null, async ({ signal }) => {
      const inside = (step: Step): Promise<Ending> => perform(config.name, job.name, step, signal);
      const run = await runJob(job, { clock, signal, dueMs: null, perform: inside });
      await openJobLog(config.folder).add(job, run);
      await notifyOfJob(context, run);
      return run;
    });
  return isOwner ? work() : runAlone(config.folder, command, work);
}

/** Parts of `runDueJob`. */
export interface DueJobParts {
  readonly perform: PerformStep;
  readonly log: JobLogger;
  /** Runs the work when no other work of this process uses the workspace. */
  takeTurn(work: () => Promise<JobRun>): Promise<JobRun>;
}

/** Runs a job that is due in a workspace that this process owns. Logs errors and does not throw. */
export async function runDueJob(
  context: Context,
  job: Job,
  dueMs: number,
  { perform, log, takeTurn }: DueJobParts,
): Promise<void> {
  const { config, clock, signal } = context;
  const about = { job: job.name };
  try {
    const run = await takeTurn(() =>
      withRemote(context, null, ({ signal: inside }) =>
        runJob(job, {
          clock,
          signal: inside,
          dueMs,
          perform: (step) => perform(config.name, job.name, step, inside),
        }),
      ),
    );
    await recordRun(context, job, run, (level, entry) =>
      log(level, { msg: `job ${job.name} ${run.status}`, ...about, startedAt: run.startedAt, ...entry }),
    );
    const onTrouble = (sentence: string): void => log('warn', { msg: sentence, ...about });
    await notifyOfJob({ ...context, onTrouble }, run);
  } catch (thrown) {
    if (!signal.aborted) log('error', { msg: toSightlineError(thrown).message, ...about });
  }
}

/** Adds a run of a scheduled job to the job log and writes a log entry. */
export async function recordRun({ config }: Context, job: Job, run: JobRun, log: JobLogger): Promise<void> {
  const { status, dueAt, steps } = run;
  // A locked job is retried. Logging each attempt would push older runs out of the job log.
  if (status !== 'locked') await openJobLog(config.folder).add(job, run);
  log(status === 'failed' ? 'error' : status === 'done' ? 'info' : 'warn', { dueAt, steps });
}
