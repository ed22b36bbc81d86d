import { systemClock } from '../../base/clock.ts';
import { EXIT } from '../../base/errors.ts';
import { jobOf, jobsOf, listJobs } from '../../operations/jobs/job-list.ts';
import { type PerformStep, runRequestedJob } from '../../operations/jobs/run-workspace-job.ts';
import type { Job } from '../../scheduler/job.ts';
import type { JobRun } from '../../scheduler/job-log.ts';
import { upcoming } from '../../scheduler/schedule.ts';
import { contextOf, readConfig, toInteger, type WorkspaceFlags } from '../context.ts';
import { performStep } from '../job-steps.ts';
import { duration, printData, say } from '../output/output.ts';
import { formatRows } from '../output/row-format.ts';
import { terminal } from '../output/terminal.ts';

const LIMIT_MAX = 1_000;

/** Flags of `jobs next`. */
export interface NextFlags extends WorkspaceFlags {
  readonly limit: string;
}

/** Runs `sightline jobs` and returns its exit code. */
export async function listJobsCommand(flags: WorkspaceFlags): Promise<number> {
  const listed = (await listJobs(readConfig(flags), systemClock.now())).map(({ job, next, last }) => {
    const { name, about, cron, timeZone, enabled, catchUp, steps } = job;
    return { name, about, cron: cron.text, timeZone, enabled, catchUp, steps, next, last };
  });
  if (flags.json === true) printData(JSON.stringify(listed));
  else {
    const rows = listed.map(({ name, cron, timeZone, enabled, steps, next, last }) => [
      name,
      cron,
      timeZone,
      steps.map((step) => step.do).join(', '),
      enabled ? toMinute(next) : 'off',
      last === null ? 'never' : toMinute(last.startedAt),
      last === null ? '' : describeResult(last),
    ]);
    printData(tableOf(['job', 'cron', 'zone', 'steps', 'next run', 'last run', 'result'], rows));
    say('`sightline serve` runs them when due; cron or systemd can call `sightline jobs run NAME` instead.');
  }
  return EXIT.done;
}

/** Runs `sightline jobs next` and returns its exit code. */
export async function nextJobs(flags: NextFlags): Promise<number> {
  const limit = toInteger('--limit', flags.limit, 1, LIMIT_MAX);
  const next = upcoming(jobsOf(readConfig(flags)), systemClock.now(), limit).map(({ job, atMs }) => ({
    job: job.name,
    at: new Date(atMs).toISOString(),
    timeZone: job.timeZone,
  }));
  if (flags.json === true) printData(JSON.stringify(next));
  else {
    const rows = next.map(({ job, at, timeZone }) => [toMinute(at), toLocal(at, timeZone), job]);
    printData(tableOf(['at', 'local time', 'job'], rows));
  }
  return EXIT.done;
}

/** Runs `sightline jobs run` and returns the most severe exit code of its steps. */
export async function runJobCommand(name: string, flags: WorkspaceFlags, signal: AbortSignal): Promise<number> {
  const config = readConfig(flags);
  const job = jobOf(config, name);
  config.notify();
  const results: unknown[] = [];
  const perform: PerformStep = async (_workspace, _job, step, inside) => {
    if (flags.json !== true) say(`${name}: ${step.do}`);
    const ended = await performStep(name, step, flags, inside);
    results.push(ended.json);
    return ended;
  };
  const context = contextOf(`jobs run ${name}`, config, signal);
  // If the owner of the workspace runs this command for a client, it owns the workspace already.
  const run = await runRequestedJob(context, job, { perform, isOwner: terminal().isCarried });
  if (flags.json === true) {
    const steps = run.steps.map((step, index) => ({ ...step, result: results[index] ?? null }));
    printData(JSON.stringify({ ...run, steps }));
  } else describeRun(job, run);
  return run.exitCode;
}

/** Prints how a run ended and the status of each step. */
export function describeRun(job: Job, run: JobRun): void {
  const took = duration(Date.parse(run.endedAt) - Date.parse(run.startedAt));
  const steps = run.steps.map(({ step, status }) => `${step} ${status}`);
  say(`job ${job.name} ${run.status} in ${took}: ${steps.join(', ')}`);
}

function describeResult({ status, steps }: JobRun): string {
  const failed = steps.find((step) => step.status === status && step.error !== null);
  return status === 'done' || failed === undefined ? status : `${status}: ${failed.step}: ${failed.error}`;
}

function tableOf(names: readonly string[], rows: readonly (readonly unknown[])[]): string {
  return formatRows({ columns: names.map((name) => ({ name, type: 'VARCHAR' })), rows }, 'table');
}

function toMinute(time: string | null): string {
  return time === null ? 'never' : `${time.slice(0, 16).replace('T', ' ')} UTC`;
}

function toLocal(time: string, timeZone: string): string {
  return new Date(time).toLocaleString('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
}
