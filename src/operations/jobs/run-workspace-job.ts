import type { Ending } from '../../base/ending.ts';
import { type JobRun, openJobLog } from '../../jobs/job-log.ts';
import type { Job, Step } from '../../jobs/job.ts';
import { runJob } from '../../jobs/run-job.ts';
import type { Mode } from '../../workspace/driver.ts';
import { withSession } from '../../workspace/session.ts';
import type { Context } from '../../workspace/workspace.ts';
import { notifyOfJob } from '../notify/notify-of.ts';

/** Runs a step of a job in the session of the context and renders its result. Must not throw. */
export type PerformStep = (context: Context, job: string, step: Step) => Promise<Ending>;

/** Writes a log entry. */
export type JobLogger = (level: 'info' | 'warn' | 'error', entry: Readonly<Record<string, unknown>>) => void;

/**
 * Runs a job that a user requested in one session, records the run and notifies the webhooks.
 *
 * @throws the errors of `withSession`.
 */
export function runRequestedJob(context: Context, job: Job, mode: Mode, perform: PerformStep): Promise<JobRun> {
  return withSession(context, mode, async (inside) => {
    const { clock, signal } = inside;
    const run = await runJob(job, { clock, signal, dueMs: null, perform: (step) => perform(inside, job.name, step) });
    await openJobLog(context.config.folder).add(job, run);
    await notifyOfJob(context, run);
    return run;
  });
}
