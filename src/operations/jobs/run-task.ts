import type { Clock } from '../../base/clock.ts';
import type { WorkspaceConfig } from '../../base/config/config.ts';
import { EXIT, SightlineError, toSightlineError } from '../../base/errors.ts';
import { type JobRun, openJobLog, readSettled, type StepRun } from '../../jobs/job-log.ts';
import type { Job } from '../../jobs/job.ts';
import { nextRun } from '../../jobs/next-run.ts';
import { runJob } from '../../jobs/run-job.ts';
import type { Lease, Task, TaskEnd } from '../../jobs/runner.ts';
import { withSession } from '../../workspace/session.ts';
import type { Context } from '../../workspace/workspace.ts';
import { notifyOfJob } from '../notify/notify-of.ts';
import { jobsOf } from './job-list.ts';
import type { JobLogger, PerformStep } from './run-workspace-job.ts';

/** First and longest wait before a locked workspace is retried, in milliseconds. The wait doubles with each attempt. */
const LOCKED_MS_FIRST = 2_000;
const LOCKED_MS_MAX = 60_000;
/** A task of an unknown workspace is returned to the queue this often, because other workers may have newer settings. */
const UNKNOWN_ATTEMPTS_MAX = 3;
const UNKNOWN_MS = 10_000;

const ASKED = 'asked for';

/** Errors that delay a job but do not fail it: the home is unreachable, or the lease was lost. */
const PASSING: readonly string[] = ['destination_failed', 'lease_lost', 'publish_failed'];

/** Settings of a workspace, or the error of loading them. */
export type FoundWorkspace = { readonly config: WorkspaceConfig } | { readonly error: SightlineError };

/** Options of `runTask`. */
export interface TaskParts {
  /** The command of this process, shown to other processes that find the workspace locked. */
  readonly command: string;
  readonly clock: Clock;
  /**
   * Whether this process owns the workspace, as `serve` does. Then the task waits in its queue instead of being put back, and begins
   * with its first step after an interruption, because no other worker can resume it.
   */
  readonly isOwner: boolean;
  /** Current settings of a workspace; undefined if it is not configured. */
  find(workspace: string): FoundWorkspace | undefined;
  readonly perform: PerformStep;
  readonly log: JobLogger;
}

/**
 * Runs the steps of a task's job in one session, for `serve` and for workers. Records the run and notifies the webhooks. Does not
 * throw.
 */
export async function runTask(task: Task, lease: Lease, parts: TaskParts): Promise<TaskEnd> {
  const { clock, isOwner, log } = parts;
  const { signal } = lease;
  const { title, about } = labelsOf(task, parts);
  const refuse = (why: string): TaskEnd => {
    log('warn', { msg: `${title} is skipped: ${why}`, ...about });
    return { kind: 'settled', status: 'left out' };
  };
  const found = parts.find(task.workspace);
  if (found === undefined && task.attempt <= UNKNOWN_ATTEMPTS_MAX) return { kind: 'put back', afterMs: UNKNOWN_MS };
  if (found === undefined) return refuse('the workspace is not configured here');
  if ('error' in found) return refuse(found.error.message);
  const { config } = found;
  const job = jobsOf(config).find(({ name }) => name === task.job);
  if (job === undefined) return refuse('the job does not exist');
  if (task.dueMs !== null && !job.enabled) return refuse('the job is disabled');
  if (task.dueMs !== null && isMissed(job, task.dueMs, clock.now())) return refuse('its next run is already due');
  try {
    const command = isOwner ? `${parts.command}, job ${job.name}` : parts.command;
    const description = `job ${job.name}`;
    const onTrouble = (sentence: string): void => log('warn', { msg: sentence, ...about });
    const context: Context = { config, clock, signal, command, description, onTrouble, task: task.id };
    const run = await withSession(context, isOwner ? 'wait' : 'refuse', async (inside) =>
      (await isMadeUpFor(config.folder, task, clock.now())) ? null : runSteps(inside, job, task, parts),
    );
    return run === null ? refuse('a later run has already covered it') : toEnd(run);
  } catch (thrown) {
    if (signal.aborted) return { kind: 'put back', afterMs: 0 };
    const error = toSightlineError(thrown);
    if (error.exit === EXIT.locked || PASSING.includes(error.code)) {
      const level = error.exit === EXIT.locked ? 'info' : 'warn';
      log(level, { msg: `${title} waits: ${error.message}`, ...about });
      return { kind: 'put back', afterMs: lockedMs(task, clock) };
    }
    log('error', { msg: `${title}: ${error.message}`, hint: error.hint, ...about });
    return { kind: 'settled', status: 'failed' };
  }
}

async function runSteps(context: Context, job: Job, task: Task, parts: TaskParts): Promise<JobRun> {
  const { config, clock, signal, session } = context;
  const { perform, log, isOwner } = parts;
  const { title, about } = labelsOf(task, parts);
  log('info', { msg: `${title} starts`, ...about, attempt: task.attempt });
  const { dueMs } = task;
  const jobLog = openJobLog(config.folder);
  const name = nameOf(task);
  const isResumed = !isOwner && (name !== ASKED || task.attempt > 1);
  const earlier = isResumed ? await jobLog.endedSteps(job, name) : [];
  const keepSteps = async (ended: readonly StepRun[]): Promise<void> => {
    if (isOwner) return;
    await jobLog.keepSteps(job, name, ended);
    await session?.home?.save();
  };
  const warnOfStep = (thrown: unknown): void => {
    const why = toSightlineError(thrown).message;
    log('warn', { msg: `cannot store the result of a step of ${config.name}: ${why}`, ...about });
  };
  const run = await runJob(job, {
    clock,
    signal,
    dueMs,
    perform: (step) => perform(context, job.name, step),
    earlier,
    onStep: (ended) => keepSteps(ended).catch(warnOfStep),
  });
  const { status, dueAt, startedAt, steps } = run;
  // A locked job is retried. Logging each attempt would push older runs out of the job log.
  if (status !== 'locked') await jobLog.add(job, run);
  const level = status === 'failed' ? 'error' : status === 'done' ? 'info' : 'warn';
  log(level, { msg: `${title} ${status}`, ...about, startedAt, dueAt, steps });
  if (status === 'locked') throw new SightlineError('warehouse_locked', lockedStepOf(run));
  await notifyOfJob(context, run);
  return run;
}

// A process that owns its only workspace does not name it.
function labelsOf({ workspace, job }: Task, { isOwner }: TaskParts) {
  if (isOwner) return { title: `job ${job}`, about: { job } };
  return { title: `job ${job} of ${workspace}`, about: { workspace, job } };
}

function lockedStepOf({ steps }: JobRun): string {
  return steps.find(({ status }) => status === 'locked')?.error ?? 'another process owns the warehouse';
}

// The same name for each attempt of a task. Only tasks in a single process's memory, without a due time, share a name.
function nameOf({ id, dueMs }: Task): string {
  return id ?? (dueMs === null ? ASKED : `due ${new Date(dueMs).toISOString()}`);
}

// An interrupted job goes back to the queue for another worker.
function toEnd({ status }: JobRun): TaskEnd {
  return status === 'interrupted' ? { kind: 'put back', afterMs: 0 } : { kind: 'settled', status };
}

// A job without `catchUp` skips a missed run once its next one is due.
function isMissed(job: Job, dueMs: number, now: number): boolean {
  const next = nextRun(job.cron, job.timeZone, dueMs);
  return !job.catchUp && next !== null && next <= now;
}

// If several runs of a job were delayed, one covers all. Ignores a settled time in the future, which a wrong clock has written.
async function isMadeUpFor(folder: string, { job, dueMs }: Task, now: number): Promise<boolean> {
  const through = (await readSettled(folder)).get(job);
  return dueMs !== null && through !== undefined && through >= dueMs && through <= now;
}

function lockedMs({ attempt }: Task, clock: Clock): number {
  return Math.min(LOCKED_MS_FIRST * 2 ** Math.min(attempt - 1, 10), LOCKED_MS_MAX) * (0.75 + clock.random() / 4);
}
